-- The scripts of the quorum include this file, too.
local call, byte, sub, format = redis.call, string.byte, string.sub, string.format
-- One reading of the server's clock for the whole call.
local time = call('TIME')
