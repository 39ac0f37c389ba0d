-- The queue of a lock: positions and offers.
-- The name of a waiter in the index by owner.
local function nameOf(claim, ticket)
  return claim.owner .. '\0' .. format('%016.0f', ticket) .. '\0' .. claim.id
end

local function leave(lock, id)
  local alive = partOf(lock, 'alive')
  if lock.fields.named then
    local claim, key = claimOf(textOf(lock, id)), partOf(lock, 'queue')
    if claim.owner then
      write(lock, 'ZREM', 'named', nameOf(claim, call('ZSCORE', key, id)))
      set(lock, 'named', count(lock, 'named') - 1)
    end
  end
  lock.left[id] = true
  write(lock, 'ZREM', 'queue', id)
  write(lock, 'ZREM', 'alive', id)
  write(lock, 'HDEL', 'claims', id)
  set(lock, 'waiting', count(lock, 'waiting') - 1)
end

-- True if the claim waits; an expired position is dropped.
local function waits(lock, id)
  if not lock.fields.waiting or lock.left[id] then return false end
  local key = partOf(lock, 'alive')
  local expires = call('ZSCORE', key, id)
  if not expires then return false end
  if tonumber(expires) > now then return true end
  leave(lock, id)
  return false
end

local function headOf(lock)
  local key = partOf(lock, 'queue')
  while true do
    local id = call('ZRANGE', key, lock.skip, lock.skip)[1] or missing(lock)
    if not lock.left[id] then return id end
    lock.skip = lock.skip + 1
  end
end

-- The first waiter that may join the hold of one of these owners, at any position.
local function joinerOf(lock, owners)
  if not lock.fields.named then return nil end
  local key, first, found = partOf(lock, 'named'), nil, nil
  for owner in pairs(owners) do
    for _, name in ipairs(call('ZRANGEBYLEX', key, '[' .. owner .. '\0', '(' .. owner .. '\1', 'LIMIT', 0, OFFERS)) do
      local ticket, id = sub(name, #owner + 2, #owner + 17), sub(name, #owner + 19)
      if not lock.left[id] and (not first or ticket < first) then
        local claim = claimOf(textOf(lock, id))
        if joins(lock, claim) then
          first, found = ticket, claim
          break
        end
      end
    end
  end
  return found
end

local function offer(lock, claim)
  leave(lock, claim.id)
  local life = math.min(claim.ttl, OFFER)
  local seq = grant(lock, claim, life)
  post(claim.inbox, format('granted\0%s\0%.0f\0%d\0%d\0%.0f\0%.0f\0', claim.id, seq, claim.owner and 0 or 255,
    lock.fields.waiting and 1 or 0, now, life) .. lock.key)
end

-- Admits the head of the queue while it fits, and waiters that join a hold of their own; `owner` has such a hold. Beyond the limit of
-- the call a lock still admits one waiter, whose renewal or release goes on with the others.
local function promote(lock, owner)
  local owners = {}
  if owner then owners[owner] = true end
  while lock.fields.waiting and (offered < OFFERS or lock.offers == 0) and not isClosed(lock) do
    local id = headOf(lock)
    if not lock.behind or waits(lock, id) then
      local claim = claimOf(textOf(lock, id))
      if not admits(lock, claim) then claim = joinerOf(lock, owners) end
      if not claim then return end
      if claim.owner then owners[claim.owner] = true end
      offer(lock, claim)
    end
    lock.offers, offered = lock.offers + 1, offered + 1
  end
end
