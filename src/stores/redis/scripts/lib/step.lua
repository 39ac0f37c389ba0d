-- The meaning of a lock: src/model/step.ts and src/model/draft.ts.
-- It is included where it is needed: to make its functions costs more than the usual claim alone.
-- @include notifications.lua
-- One step ends so many dead claims, admits so many waiters, and tells so many holders; the next step goes on.
local DEAD, OFFERS, TOLD = 50, 50, 32
-- How many waiters all steps of this call have admitted: its locks share OFFERS, so that the call stays short.
local offered = 0
-- A key of a lock can be missing while its slot moves to another server, and for ever if it was evicted. In milliseconds.
local MISSED = 60000

-- Fields ended by zero bytes, the key last, so that a client reads a notification without knowing the state.
local function tell(lock, holder, kind, detail)
  post(holder.inbox, kind .. '\0' .. holder.id .. '\0' .. detail .. '\0' .. lock.key)
end

local function isClosed(lock)
  return count(lock, 'closed') > now
end

local function exists(lock, part)
  local key = partOf(lock, part)
  return call('EXISTS', key) == 1
end

local function missing(lock)
  local key = lock.key
  if not lock.fields.missed then call('HSET', key, 'missed', now) end
  error({ err = 'TRYAGAIN a part of the lock is missing' })
end

-- All parts that count something must be there, before anything is written.
local function isWhole(lock, holders, waiting)
  local fields, names = lock.fields, {}
  local function expect(part) names[#names + 1] = partOf(lock, part) end
  if holders or waiting then expect('claims') end
  if holders then expect('holders') end
  if holders and fields.owners then expect('owners') end
  if waiting then
    expect('queue')
    expect('alive')
    if fields.named then expect('named') end
  end
  return #names == 0 or call('EXISTS', unpack(names)) == #names
end

-- A part that did not come back is lost, and its claims with it.
local function recover(lock)
  local fields = lock.fields
  local holders, waiting = fields.holders, fields.waiting
  if isWhole(lock, holders, waiting) then
    if fields.missed then set(lock, 'missed', nil) end
    return
  end
  if not fields.missed or now - fields.missed < MISSED then missing(lock) end
  if holders and not isWhole(lock, true, false) then
    for _, field in ipairs({ 'holders', 'used', 'owners', 'delay' }) do set(lock, field, nil) end
  end
  if waiting and not isWhole(lock, false, true) then
    for _, field in ipairs({ 'waiting', 'named' }) do set(lock, field, nil) end
  end
  set(lock, 'missed', nil)
end

-- The part is written from now on, and gets its end with `save`.
local function open(lock, part)
  lock.opened = lock.opened or {}
  lock.opened[part] = true
end

-- A part that the hash does not count is new, or was left behind by a hash that was evicted. If it is on another server,
-- the step fails here, before anything is written.
local function begin(lock, part, other)
  if exists(lock, part) then
    for _, old in ipairs({ part, other }) do
      local key = partOf(lock, old)
      call('DEL', key)
    end
  end
  open(lock, part)
  open(lock, 'claims')
end

local function soleOf(lock)
  local fields = lock.fields
  return { id = fields.id, inbox = fields.inbox, label = fields.label, actor = fields.actor, meta = fields.meta,
    since = tonumber(fields.since), expires = tonumber(fields.expires), delay = tonumber(fields.delay),
    weight = 1, seq = tonumber(fields.seq) }
end

local function claimOf(text)
  local claim = cjson.decode(text)
  claim.text, claim.weight, claim.seq = text, claim.weight or 1, tonumber(claim.seq)
  return claim
end

local function textOf(lock, id)
  local key = partOf(lock, 'claims')
  return call('HGET', key, id) or missing(lock)
end

-- What the claims of a named owner share: { seq, weight, members }.
local function ownHold(lock, claim)
  local owner = claim.owner
  if not owner or not lock.fields.owners then return nil end
  local own = lock.owned[owner]
  if own == nil then
    local key = partOf(lock, 'owners')
    local text = call('HGET', key, owner)
    own = text and cjson.decode(text) or false
    if own then own.seq = tonumber(own.seq) end
    lock.owned[owner] = own
  end
  return own or nil
end

local function saveOwn(lock, owner, own)
  lock.owned[owner] = own
  if own.members > 0 then
    write(lock, 'HSET', 'owners', owner, cjson.encode({ seq = format('%.0f', own.seq), weight = own.weight, members = own.members }))
  else
    lock.owned[owner] = false
    write(lock, 'HDEL', 'owners', owner)
    set(lock, 'owners', count(lock, 'owners') - 1)
  end
end

local function fits(lock, claim)
  if not isHeld(lock) then return true end
  if claim.mode == 'permits' then return count(lock, 'used') + claim.weight <= claim.limit end
  return claim.mode == 'shared' and lock.fields.mode == 'shared'
end

-- Whether a hold already gives what a claim asks for.
local function covers(lock, hold, claim)
  local mode = lock.fields.mode
  if mode == 'permits' then return claim.mode == 'permits' and claim.weight <= hold.weight end
  return mode == 'exclusive' or claim.mode == 'shared'
end

local function joins(lock, claim)
  local own = ownHold(lock, claim)
  return own ~= nil and covers(lock, own, claim)
end

local function admits(lock, claim)
  if isClosed(lock) then return false end
  local own = ownHold(lock, claim)
  if own then return covers(lock, own, claim) end
  return fits(lock, claim)
end

local function takeSeq(lock)
  local seq = nextSeq(lock)
  set(lock, 'seq', seq)
  return seq
end

-- The claim as it was sent, with what has become of it in front.
local function writeHolder(lock, claim, since, expires, seq)
  local text = format('{"since":%.0f,"seq":"%.0f",', since, seq) .. sub(claim.text, 2)
  lock.known[claim.id] = { id = claim.id, inbox = claim.inbox, label = claim.label, owner = claim.owner,
    delay = claim.delay, weight = claim.weight, since = since, expires = expires, seq = seq, text = text }
  write(lock, 'ZADD', 'holders', expires, claim.id)
  write(lock, 'HSET', 'claims', claim.id, text)
end

local function addHolder(lock, claim, since, expires, seq)
  if not lock.fields.holders then begin(lock, 'holders', 'owners') end
  set(lock, 'holders', count(lock, 'holders') + 1)
  if claim.delay then set(lock, 'delay', math.max(count(lock, 'delay'), claim.delay)) end
  writeHolder(lock, claim, since, expires, seq)
end

-- Makes the claim a holder for so long, and says the sequence number of its hold; a named owner joins its own hold.
local function grant(lock, claim, life)
  local own, expires = ownHold(lock, claim), now + life
  keep(lock, expires + (claim.delay or 0))
  if claim.mode == 'exclusive' and not claim.owner then return grantSole(lock, claim, expires, nextSeq(lock)) end
  local seq = own and own.seq or takeSeq(lock)
  addHolder(lock, claim, now, expires, seq)
  if own then
    own.members = own.members + 1
  else
    set(lock, 'mode', claim.mode)
    if claim.mode == 'permits' then
      set(lock, 'limit', claim.limit)
      set(lock, 'used', count(lock, 'used') + claim.weight)
    end
    if claim.owner then
      own = { seq = seq, weight = claim.weight, members = 1 }
      set(lock, 'owners', count(lock, 'owners') + 1)
      open(lock, 'owners')
    end
  end
  if own then saveOwn(lock, claim.owner, own) end
  return seq
end

local function drop(lock, holder)
  if lock.fields.id then return dropSole(lock) end
  lock.known[holder.id] = false
  write(lock, 'ZREM', 'holders', holder.id)
  write(lock, 'HDEL', 'claims', holder.id)
  set(lock, 'holders', count(lock, 'holders') - 1)
  local own = ownHold(lock, holder)
  if own then
    own.members = own.members - 1
    saveOwn(lock, holder.owner, own)
  end
  if lock.fields.used and (not own or own.members == 0) then
    set(lock, 'used', count(lock, 'used') - (own or holder).weight)
  end
  if not lock.fields.holders and lock.fields.delay then set(lock, 'delay', nil) end
end

local function expire(lock, holder)
  tell(lock, holder, 'lost', 'expired')
  if holder.delay then
    set(lock, 'closed', math.max(count(lock, 'closed'), holder.expires + holder.delay))
    keep(lock, count(lock, 'closed'))
  end
  drop(lock, holder)
end

-- When the hold of that id ends; nothing if there is none.
local function endOf(lock, id)
  if lock.fields.id then return lock.fields.id == id and tonumber(lock.fields.expires) or nil end
  if not lock.fields.holders then return nil end
  local known = lock.known[id]
  if known ~= nil then return known and known.expires or nil end
  local key = partOf(lock, 'holders')
  local expires = call('ZSCORE', key, id)
  return expires and tonumber(expires)
end

local function holderOf(lock, id)
  local expires = endOf(lock, id)
  if not expires then return nil end
  if lock.fields.id then return soleOf(lock) end
  local holder = lock.known[id]
  if not holder then
    holder = claimOf(textOf(lock, id))
    holder.expires = expires
  end
  if expires > now then return holder end
  expire(lock, holder)
end

-- A waiter of a named owner is found by its owner, too.
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

-- Whether the claim waits; a position that is over is given up.
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

-- The first waiter that may join the hold of one of these owners, past the queue.
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

-- Admits the head of the queue for as long as it fits, and waiters that join a hold of their own. `owner` has such a hold.
-- When the call has admitted enough, a lock admits one waiter still: its renewal or its release goes on with the others.
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

local function deadIn(lock, part)
  local key = partOf(lock, part)
  return call('ZRANGEBYSCORE', key, '-inf', now, 'LIMIT', 0, DEAD)
end

-- Drops what is dead, then admits the waiters that may come in.
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

-- A lock whose time is counted. False for a format that is not known.
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

-- The step of one member. Another server may have a part of its lock for the moment: that spoils nothing else.
local function attempted(step, ...)
  local sound, answer = pcall(step, ...)
  if sound then return answer end
  local problem = type(answer) == 'table' and answer.err or answer
  notifications, locks = {}, {}
  if string.find(problem, 'TRYAGAIN', 1, true) or string.find(problem, 'non local key', 1, true) then return nil end
  error(answer, 0)
end
