-- Counts the time of a lock, as any claim would: who is dead goes, who comes next is told, and it has an end again.
-- KEYS[1]: the lock
-- ARGV: none
-- Answers: 1 if there was something to do, else 0, or -1 for an unknown format
-- @include lib/clock.lua
-- @include lib/step.lua
local key = KEYS[1]
local value = call('GET', key)
local state = load(value)
if not state then return -1 end
if not value then return 0 end
keyName = key
sweep(state)
if not state.changed and call('PTTL', key) ~= -1 then return 0 end
save(key, state)
deliver()
return 1
