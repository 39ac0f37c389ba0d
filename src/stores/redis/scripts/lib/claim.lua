-- The effect of a claim on a lock, and its answer.
local function granted(lock, seq, owner)
  local contended = lock.fields.waiting
  -- The usual answer is the sequence number, negative when others wait.
  if not owner then return contended and -seq or seq end
  return { 'granted', seq, contended and 1 or 0 }
end

-- The only claim of an exclusive hold becomes shared: readers may join it.
local function downgrade(lock, holder, own)
  if lock.fields.id then
    drop(lock, holder)
    holder.mode, holder.text = 'shared', nil
    local since, expires, seq = holder.since, holder.expires, holder.seq
    holder.since, holder.expires, holder.seq = nil, nil, nil
    holder.text = cjson.encode(holder)
    addHolder(lock, holder, since, expires, seq)
  end
  set(lock, 'mode', 'shared')
  promote(lock, own and holder.owner)
end

-- A claim that already holds the key is granted again, for its full ttl.
local function reclaim(lock, claim, holder)
  local own = ownHold(lock, holder)
  if not covers(lock.fields.mode, (own or holder).weight, claim) then
    return refused('upgrade', 'a shared lease cannot become an exclusive one: release it first')
  end
  local expires, seq = math.max(holder.expires, now + claim.ttl), own and own.seq or holder.seq
  holder.expires = expires
  keep(lock, expires + (holder.delay or 0))
  if lock.fields.mode == 'exclusive' and claim.mode == 'shared' and (not own or own.members == 1) then
    if not lock.fields.id then write(lock, 'ZADD', 'holders', expires, holder.id) end
    downgrade(lock, holder, own)
  elseif lock.fields.id then
    set(lock, 'expires', expires)
  else
    lock.known[holder.id] = holder
    write(lock, 'ZADD', 'holders', expires, holder.id)
  end
  return granted(lock, seq, holder.owner)
end

local function adopt(lock, claim)
  local given = holderOf(lock, claim.replaces)
  if not given then return refused('absent', 'the lease to adopt is no longer held') end
  local own, expires = ownHold(lock, given), now + claim.ttl
  if not covers(lock.fields.mode, (own or given).weight, claim) then
    return refused('upgrade', 'the lease to adopt gives less than its adopter asks for')
  end
  local seq = own and own.seq or given.seq
  -- Claims that share a hold share its token, so only a hold of one claim can move the fence.
  if not own or own.members == 1 then seq = takeSeq(lock) end
  tell(lock, given, 'lost', 'adopted')
  keep(lock, expires + (claim.delay or 0))
  if lock.fields.id then
    dropSole(lock)
    grantSole(lock, claim, expires, seq)
  else
    -- The hold stays what it is, and its owner's.
    local fields = cjson.decode(claim.text)
    fields.owner, fields.weight = given.owner, given.weight
    fields.id, fields.replaces = claim.id, nil
    claim.owner, claim.weight, claim.text = given.owner, given.weight, cjson.encode(fields)
    write(lock, 'ZREM', 'holders', given.id)
    write(lock, 'HDEL', 'claims', given.id)
    lock.known[given.id] = false
    if claim.delay then set(lock, 'delay', math.max(count(lock, 'delay'), claim.delay)) end
    writeHolder(lock, claim, now, expires, seq)
    if own then
      own.seq = seq
      saveOwn(lock, given.owner, own)
    end
  end
  return granted(lock, seq, given.owner)
end

-- At most 32 holders hear that others wait; the next renewal tells the rest.
local function tellHolders(lock)
  if lock.fields.id then return tell(lock, soleOf(lock), 'contended', '') end
  if not lock.fields.holders then return end
  local key = partOf(lock, 'holders')
  for _, id in ipairs(call('ZRANGE', key, 0, TOLD - 1)) do
    tell(lock, claimOf(textOf(lock, id)), 'contended', '')
  end
end

local function enqueue(lock, claim)
  if not lock.fields.waiting then
    begin(lock, 'queue', 'alive')
    open(lock, 'alive')
    tellHolders(lock)
  end
  local ticket = count(lock, 'ticket') + 1
  set(lock, 'ticket', ticket)
  set(lock, 'waiting', count(lock, 'waiting') + 1)
  if not lock.fields.mode then
    set(lock, 'mode', claim.mode)
    if claim.limit then set(lock, 'limit', claim.limit) end
  end
  write(lock, 'ZADD', 'queue', ticket, claim.id)
  write(lock, 'HSET', 'claims', claim.id, format('{"joined":%.0f,', now) .. sub(claim.text, 2))
  if claim.owner then
    write(lock, 'ZADD', 'named', 0, nameOf(claim, ticket))
    set(lock, 'named', count(lock, 'named') + 1)
    open(lock, 'named')
  end
end

-- The holder whose hold ends first, and its end.
local function firstHolder(lock)
  if lock.fields.id then return soleOf(lock), tonumber(lock.fields.expires) end
  if not lock.fields.holders then return nil, math.huge end
  local key, first = partOf(lock, 'holders'), nil
  local id, expires = unpack(call('ZRANGE', key, 0, 0, 'WITHSCORES'))
  expires = tonumber(expires) or math.huge
  if id then
    first = lock.known[id] or claimOf(textOf(lock, id))
  end
  -- A group that is given up here may have granted claims of its own, which are not written.
  if lock.writes then
    for _, holder in pairs(lock.known) do
      if holder and holder.expires < expires then first, expires = holder, holder.expires end
    end
  end
  return first, expires
end

-- The first end of a position of another waiter.
local function endOfOther(lock, claim)
  local key = partOf(lock, 'alive')
  local soonest = call('ZRANGE', key, 0, 1, 'WITHSCORES')
  return tonumber(soonest[soonest[1] == claim.id and 4 or 2]) or math.huge
end

-- Tells when time alone may change the answer, at the latest; earlier if a position far behind may end.
local function block(lock, claim, waiting)
  local at = isClosed(lock) and count(lock, 'closed') or math.huge
  if not claim.group then
    if not waiting and claim.queue then
      enqueue(lock, claim)
      waiting = true
    end
    if waiting then
      keep(lock, now + claim.ttl)
      write(lock, 'ZADD', 'alive', 'GT', now + claim.ttl, claim.id)
    end
    save(lock)
  end
  local holder, expires = firstHolder(lock)
  local position = 0
  at = math.min(at, expires)
  if waiting then
    local key = partOf(lock, 'queue')
    position = call('ZRANK', key, claim.id) + 1
  end
  if lock.fields.waiting and position ~= 1 then at = math.min(at, endOfOther(lock, claim)) end
  local after = at == math.huge and -1 or math.max(1, at - now)
  if not holder then return { 'blocked', position, after, now } end
  return { 'blocked', position, after, now, holder.label, now - holder.since }
end

local function applyClaim(lock, claim)
  local holder = holderOf(lock, claim.id)
  if holder then return reclaim(lock, claim, holder) end
  if claim.replaces then return adopt(lock, claim) end
  local fields = lock.fields
  local refusal = mismatch(fields.mode, tonumber(fields.limit), claim) or upgrade(fields.mode, ownHold(lock, claim), claim)
  local waiting = waits(lock, claim.id)
  if refusal then
    -- A refused claim goes away, so it must not keep a position that others wait behind.
    if waiting then
      leave(lock, claim.id)
      promote(lock)
    end
    return refusal
  end
  if joins(lock, claim) or (not waiting and not lock.fields.waiting and admits(lock, claim)) then
    if waiting then leave(lock, claim.id) end
    return granted(lock, grant(lock, claim, claim.ttl), claim.owner)
  end
  return block(lock, claim, waiting)
end
