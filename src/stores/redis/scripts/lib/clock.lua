-- One reading of the server's clock for the whole call: milliseconds for expiry, microseconds for tokens.
-- Both as text too, of 13 and 16 digits, because a hold is written and compared as text.
local call, byte, sub, format = redis.call, string.byte, string.sub, string.format
local time = call('TIME')
local stampText = time[1] .. sub('00000' .. time[2], -6)
local nowText = sub(stampText, 1, 13)
local stamp, now = tonumber(stampText), tonumber(nowText)
local KEEP = 86400000
-- How long what is offered to a waiter is kept for it, in milliseconds.
local OFFER = 1000
