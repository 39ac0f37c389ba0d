-- One reading of the server's clock for the whole call: microseconds for sequence numbers, milliseconds for expiry.
local time = call('TIME')
local stamp = time[1] * 1000000 + time[2]
local now = math.floor(stamp / 1000)
