-- Ends holds or positions in the queue, and grants the freed locks to the next waiters.
-- KEYS[i]: the state of the lock of claim i; its other keys are named in lib/lock.lua
-- ARGV[i]: the id of claim i
-- Answers: 1 if all were released; else one answer for each claim:
--          1 released, 0 absent, -1 for an unknown format, -2 while a part of the lock is on another server
-- @flags allow-oom
-- @include lib/lock.lua
local steps = nil

local function makeSteps()
  -- @include lib/step.lua
  local function release(key, id)
    local lock = lockOf(key)
    if not lock then return -1 end
    local holder = holderOf(lock, id)
    if holder then drop(lock, holder)
    elseif waits(lock, id) then leave(lock, id)
    else return 0 end
    promote(lock)
    save(lock)
    deliver()
    return 1
  end

  return { release = release, attempted = attempted }
end

-- The fast path: a sole holder without waiters. The general path has the same effect at half the speed.
local function releaseSole(key, id)
  local fields = redis.pcall('HMGET', key, 'format', 'id', 'waiting', 'expires')
  if fields[1] ~= FORMAT or fields[2] ~= id or fields[3] or tonumber(fields[4]) <= now then return nil end
  call('HDEL', key, 'mode', unpack(SOLE))
  locks[key] = nil
  return 1
end

local answers, all = {}, true
for index = 1, #KEYS do
  local key, id = KEYS[index], ARGV[index]
  local answer = releaseSole(key, id)
  if not answer then
    steps = steps or makeSteps()
    answer = steps.attempted(steps.release, key, id) or -2
  end
  answers[index] = answer
  all = all and answer == 1
end
return all and 1 or answers
