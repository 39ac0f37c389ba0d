-- One reading of the server's clock for the whole call: milliseconds for expiry, microseconds for tokens.
local time = redis.call('TIME')
local stamp = time[1] * 1000000 + time[2]
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local KEEP = 86400000
