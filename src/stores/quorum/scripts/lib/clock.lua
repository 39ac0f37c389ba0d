-- Microseconds for sequence numbers, milliseconds for expiry.
local stamp = time[1] * 1000000 + time[2]
local now = math.floor(stamp / 1000)
