-- The queue of a plain lock, as claims and renewals see it; lib/plain.lua says how it is kept.

-- The waiter's position in the queue; nothing where it is over.
local function positionOf(lock, id)
  if not firstOf(lock) then return nil end
  local queue, alive = partOf(lock, 'queue'), partOf(lock, 'alive')
  local expires = call('ZSCORE', alive, id)
  if not expires or tonumber(expires) <= now then return nil end
  local rank = call('ZRANK', queue, id)
  return rank and rank + 1
end

-- The position goes on. The parts of the queue end some time after the last one, so that they need not be prolonged each time.
local function stay(lock, id, ttl)
  local alive = partOf(lock, 'alive')
  call('ZADD', alive, 'GT', now + ttl, id)
  for _, name in ipairs({ 'queue', 'alive', 'claims' }) do
    local part = partOf(lock, name)
    if call('PTTL', part) < ttl then call('PEXPIRE', part, 2 * ttl) end
  end
  keep(lock, ttl)
end

-- It was told and came, but another library was faster: its next turn is a new one.
local function endTurn(lock, id)
  local side = lock.side
  if lock.fields.turn == id then call('HDEL', side, 'turn', 'turnEnds') end
end
