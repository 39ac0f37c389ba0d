-- Sweeps a lock as any claim would: drops dead claims, grants the next waiters, and sets a missing expiry.
-- KEYS[1]: the state of the lock; its other keys are named in lib/lock.lua
-- ARGV: none
-- Answers: 1 if there was something to do, else 0, or -1 for an unknown format
-- @include lib/lock.lua
-- @include lib/step.lua
local key = KEYS[1]
local before = call('HGETALL', key)
local lock = lockOf(key)
if not lock then return -1 end
if #before == 0 then return 0 end
local endless = call('PTTL', key) == -1
if endless then
  set(lock, 'kept', now + KEEP)
  lock.prolonged = true
  save(lock)
end
local after = call('HGETALL', key)
return (endless or table.concat(before, '\0') ~= table.concat(after, '\0')) and 1 or 0
