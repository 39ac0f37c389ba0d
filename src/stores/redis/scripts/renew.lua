-- Renews holds and positions in the queue; never creates or shortens one.
-- KEYS[i]: the state of the lock of claim i; its other keys are named in lib/lock.lua
-- ARGV[i]: the ttl in milliseconds and the id of claim i, with a space between
-- Answers: 1 if all hold and nobody waits; else one answer for each claim:
--          0 lost, 1 holds, 2 holds and others wait, { position, storeTimeMs } for a waiter, -1 for an unknown format,
--          -2 while a part of the lock is on another server
-- @flags allow-oom
-- @include lib/lock.lua
local steps = nil

local function makeSteps()
  -- @include lib/step.lua
  local function renewHolder(lock, id, expires, ttl)
    if now + ttl > expires then
      keep(lock, now + ttl + count(lock, 'delay'))
      if lock.fields.id then set(lock, 'expires', now + ttl) else write(lock, 'ZADD', 'holders', now + ttl, id) end
    end
    if not lock.fields.named then return end
    -- One call may not have admitted all waiters of its owner.
    local owner = holderOf(lock, id).owner
    if owner then promote(lock, owner) end
  end

  local function renew(key, ttl, id)
    local lock = lockOf(key)
    if not lock then return -1 end
    local expires, answer = endOf(lock, id), 0
    if expires and expires > now then
      renewHolder(lock, id, expires, ttl)
      answer = lock.fields.waiting and 2 or 1
    elseif waits(lock, id) then
      local queue = partOf(lock, 'queue')
      keep(lock, now + ttl)
      write(lock, 'ZADD', 'alive', 'GT', now + ttl, id)
      answer = { call('ZRANK', queue, id) + 1, now }
    end
    save(lock)
    deliver()
    return answer
  end

  return { renew = renew, attempted = attempted }
end

-- The fast path: a sole holder without waiters. The general path has the same effect at half the speed.
local function renewSole(key, ttl, id)
  local fields = redis.pcall('HMGET', key, 'format', 'id', 'waiting', 'expires', 'kept', 'delay')
  if fields[1] ~= FORMAT or fields[2] ~= id or fields[3] then return nil end
  local expires, prolonged = tonumber(fields[4]), now + ttl
  if expires <= now or prolonged + (fields[6] or 0) + DAY > tonumber(fields[5]) then return nil end
  if prolonged > expires then
    call('HSET', key, 'expires', text(prolonged))
    locks[key] = nil
  end
  return 1
end

local answers, all = {}, true
for index = 1, #KEYS do
  local ttl, id = string.match(ARGV[index], '^(%d+) (.*)$')
  ttl = tonumber(ttl)
  local answer = renewSole(KEYS[index], ttl, id)
  if not answer then
    steps = steps or makeSteps()
    answer = steps.attempted(steps.renew, KEYS[index], ttl, id) or -2
  end
  answers[index] = answer
  all = all and answer == 1
end
return all and 1 or answers
