-- @include stamp.lua
local stamp, now = tonumber(stampText), tonumber(nowText)
-- A key outlives its hold by so many milliseconds when its time to live is set: by 24 hours, an hour, and a period.
local KEEP = 100000000
-- Within one period of ten million milliseconds it is set once: whoever finds a key that was written in the present period, and
-- wants it for an hour at most, leaves its time to live as it is, and it still outlives the hold by 24 hours.
local period, HOUR = sub(nowText, 1, 6), '0003600000'
-- How long what is offered to a waiter is kept for it, in milliseconds.
local OFFER = 1000
