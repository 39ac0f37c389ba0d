-- @include time.lua
-- The remains of a lock or a record are kept so long, in milliseconds: a day, and some hours in which nothing need be prolonged.
local KEEP = 100000000
-- How long an offer is kept for its waiter, in milliseconds.
local OFFER = 1000
