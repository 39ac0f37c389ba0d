-- One reading of the server's clock for the whole call, as text: 16 digits of microseconds for sequence numbers, 13 of
-- milliseconds for expiry, because a vote is written and compared as text. To make numbers of them costs more than a lock.
local call, byte, sub, format = redis.call, string.byte, string.sub, string.format
local time = call('TIME')
local stampText = time[1] .. sub('00000' .. time[2], -6)
local nowText = sub(stampText, 1, 13)
local KEEP = 86400000
