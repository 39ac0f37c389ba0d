-- @include ../../../redis/scripts/lib/time.lua
local find = string.find
local KEEP = 86400000
-- How many expired claims one step drops, and how many waiters all steps of one request call; the next step goes on.
local MOST = 100
