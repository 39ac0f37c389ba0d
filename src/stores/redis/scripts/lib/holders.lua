-- The parts of a lock in the server, and its holders.
-- @include notifications.lua
-- @include admission.lua
-- One step drops so many dead claims, admits so many waiters, and notifies so many holders; the next step goes on.
local DEAD, OFFERS, TOLD = 50, 50, 32
-- Waiters that all steps of this call have admitted: its locks share OFFERS, so that the call stays short.
local offered = 0
-- A key of a lock can be missing while its slot moves to another server, or for ever if it was evicted. In milliseconds.
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

-- All parts that count something must exist before anything is written.
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

-- A part that did not come back is lost with its claims.
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

-- The part exists from now on, and gets its expiry with `save`.
local function open(lock, part)
  lock.opened = lock.opened or {}
  lock.opened[part] = true
end

-- A part that the hash does not count is new, or remains of an evicted hash. If it is on another server, the step fails here, before
-- anything is written.
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

-- The hold that the claims of a named owner share: { seq, weight, members }.
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

local function joins(lock, claim)
  local own = ownHold(lock, claim)
  return own ~= nil and covers(lock.fields.mode, own.weight, claim)
end

local function admits(lock, claim)
  if isClosed(lock) then return false end
  local own = ownHold(lock, claim)
  if own then return covers(lock.fields.mode, own.weight, claim) end
  return fits(lock, claim)
end

local function takeSeq(lock)
  local seq = nextSeq(lock)
  set(lock, 'seq', seq)
  return seq
end

-- Stores the claim as it was sent, with its start and sequence number in front.
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

-- Makes the claim a holder for `life` and returns the sequence number of its hold; a named owner joins its own hold.
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

-- The end of the hold of that id, or nothing.
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
