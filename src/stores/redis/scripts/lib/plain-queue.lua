-- The queue of a plain lock, as claims and renewals see it; lib/plain.lua says how it is kept.

-- The waiter's place in the queue; nothing where its position is over.
local function positionOf(lock, id)
  if not firstOf(lock) then return nil end
  local queue, alive = partOf(lock, 'queue'), partOf(lock, 'alive')
  local expires = call('ZSCORE', alive, id)
  if not expires or tonumber(expires) <= now then return nil end
  local rank = call('ZRANK', queue, id)
  return rank and rank + 1
end

-- The position goes on; the parts of the queue end with the last one.
local function stay(lock, id, ttl)
  local alive = partOf(lock, 'alive')
  call('ZADD', alive, 'GT', now + ttl, id)
  for _, part in ipairs({ 'queue', 'alive', 'claims' }) do
    local key = partOf(lock, part)
    prolong(key, ttl)
  end
  keep(lock, ttl)
end
