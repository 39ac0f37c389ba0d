-- Prolongs plain locks and positions in the queue; never creates either, never shortens one.
-- KEYS[i]: for each claim the lock, then the state beside it; the other keys are named in lib/plain.lua
-- ARGV[i]: the ttl in milliseconds and the id of claim i, with a space between
-- Answers, one for each claim: 0 lost, 1 renewed, 2 renewed and others of ours wait,
--          { position, storeTimeMs } for a waiter, -1 for an unknown format
-- @flags allow-oom
-- @include lib/plain.lua
-- @include lib/plain-queue.lua
local function renewWaiter(lock, ttl, id)
  local position = positionOf(lock, id)
  if not position then return 0 end
  stay(lock, id, ttl)
  -- A holder of another library tells nobody when it lets go. The position is over if its own turn has passed.
  if isFree(lock) then
    turnOf(lock)
    position = positionOf(lock, id)
  else
    endTurn(lock, id)
  end
  return position and { position, now } or 0
end

local function renew(lock, ttl, id)
  local key = lock.key
  if not lock.fields then return lock.holder == id and -1 or 0 end
  if lock.holder ~= id then return renewWaiter(lock, ttl, id) end
  if ttl > call('PTTL', key) then
    call('PEXPIRE', key, ttl)
    keep(lock, ttl)
  end
  return firstOf(lock) and 2 or 1
end

local answers = {}
for index = 1, #ARGV do
  local ttl, id = string.match(ARGV[index], '^(%d+) (.*)$')
  answers[index] = renew(lockOf(KEYS[2 * index - 1], KEYS[2 * index]), tonumber(ttl), id)
end
deliver()
return answers
