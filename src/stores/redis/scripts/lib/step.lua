-- Port of src/model/step.ts. Included where it is needed: to create its functions costs more than the usual claim alone.
-- @include holders.lua
-- @include queue.lua
local function deadIn(lock, part)
  local key = partOf(lock, part)
  return call('ZRANGEBYSCORE', key, '-inf', now, 'LIMIT', 0, DEAD)
end

-- Drops dead claims, then admits waiters.
local function sweep(lock)
  if lock.fields.id then
    if tonumber(lock.fields.expires) <= now then expire(lock, soleOf(lock)) end
  elseif lock.fields.holders then
    for _, id in ipairs(deadIn(lock, 'holders')) do holderOf(lock, id) end
  end
  if not lock.fields.waiting then return end
  local dead = deadIn(lock, 'alive')
  lock.behind = #dead == DEAD
  for _, id in ipairs(dead) do leave(lock, id) end
  promote(lock)
end

-- A lock without expired claims; false for an unknown format.
local function lockOf(key)
  local lock = lockAt(key)
  if not lock or lock.known then return lock end
  lock.known, lock.owned, lock.left, lock.skip, lock.offers = {}, {}, {}, 0, 0
  recover(lock)
  sweep(lock)
  save(lock)
  deliver()
  return lock
end

-- The step of one claim. Another server may have a part of its lock for the moment; this must not spoil other claims.
local function attempted(step, ...)
  local sound, answer = pcall(step, ...)
  if sound then return answer end
  local problem = type(answer) == 'table' and answer.err or answer
  notifications, locks = {}, {}
  if string.find(problem, 'TRYAGAIN', 1, true) or string.find(problem, 'non local key', 1, true) then return nil end
  error(answer, 0)
end
