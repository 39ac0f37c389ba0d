-- @include ../../../redis/scripts/lib/time.lua
local find = string.find
local KEEP = 86400000
-- How many of what has expired one step deals with, and how many all steps of one request call: the next one goes on.
local MOST = 100
