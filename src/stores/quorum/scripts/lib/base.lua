-- @include ../../../redis/scripts/lib/time.lua
local find = string.find
local KEEP = 86400000
-- How many of what has expired, and how many to be called, one step deals with: the next one goes on.
local MOST = 100
