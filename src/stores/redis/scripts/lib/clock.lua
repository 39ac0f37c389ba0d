-- @include stamp.lua
local stamp, now = tonumber(stampText), tonumber(nowText)
-- What a lock or a record leaves behind is kept for so many milliseconds: a day, and some hours in which nothing need be prolonged.
local KEEP = 100000000
-- How long what is offered to a waiter is kept for it, in milliseconds.
local OFFER = 1000
