-- One reading of the server's clock for the whole call: microseconds for tokens, milliseconds for expiry. The quorum shares this file.
local call, byte, sub, format = redis.call, string.byte, string.sub, string.format
local time = call('TIME')
local stamp = time[1] * 1000000 + time[2]
local now = math.floor(stamp / 1000)
