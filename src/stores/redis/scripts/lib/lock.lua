-- The keys of a lock. All of them expire at `kept`, and their names differ in one word:
--   holdfast:state:{key}    hash: format, seq (of the last token), kept, closed (end of a lock delay), mode, limit, and
--                           of an exclusive holder without a named owner all that is known:
--                           id, inbox, label, actor, meta, since, expires, delay;
--                           of any others: holders (how many), used (permits), owners (how many), delay (the longest one);
--                           of the queue: waiting (how many), named (how many have a named owner), ticket (the last one)
--   holdfast:holders:{key}  sorted set: claim id by the end of its hold
--   holdfast:owners:{key}   hash: a named owner, and the hold that its claims share
--   holdfast:queue:{key}    sorted set: claim id by its ticket, which is the order of arrival
--   holdfast:alive:{key}    sorted set: claim id of a waiter by the end of its position
--   holdfast:named:{key}    sorted set: owner, ticket and id of the waiters that have a named owner
--   holdfast:claims:{key}   hash: claim id, and the claim of a holder or waiter as JSON
--   holdfast:lock:{key}     the format alone: processes of format 1 look here, and refuse the key
-- All writes of a step wait for `save`, so that a step can be given up: the claims of a group are granted all or none.
-- @include clock.lua
local FORMAT, DAY = '2', 86400000
local SOLE = { 'id', 'inbox', 'label', 'actor', 'meta', 'since', 'expires', 'delay' }
local SOLE_MORE = { 'actor', 'meta', 'delay' }

local function partOf(lock, name)
  if not lock.head then lock.head, lock.tail = string.match(lock.key, '^(.-holdfast:)state(:.*)$') end
  return lock.head .. name .. lock.tail
end

local function count(lock, field)
  return tonumber(lock.fields[field]) or 0
end

-- Nil and zero are not stored.
local function set(lock, field, value)
  if value == 0 then value = nil end
  lock.fields[field] = value
  lock.changed = lock.changed or {}
  lock.changed[field] = true
end

local function write(lock, ...)
  lock.writes = lock.writes or {}
  lock.writes[#lock.writes + 1] = { ... }
end

local function isHeld(lock)
  return lock.fields.id or lock.fields.holders
end

-- Keeps the lock for at least a day after that time; some hours longer, so that this happens rarely.
local function keep(lock, time)
  if time + DAY <= count(lock, 'kept') then return end
  set(lock, 'kept', time + KEEP)
  lock.prolonged = true
end

-- Nil for an unknown format.
local function load(key)
  local flat = redis.pcall('HGETALL', key)
  if flat.err then return nil end
  -- The fields of a sole holder are preset, because growing the table costs more than reading them.
  local fields = { format = false, seq = false, kept = false, mode = false, id = false, inbox = false, label = false,
    since = false, expires = false }
  for at = 1, #flat, 2 do fields[flat[at]] = flat[at + 1] end
  local lock = { key = key, fields = fields }
  if #flat == 0 then
    local marker = partOf(lock, 'lock')
    local old = redis.pcall('GET', marker)
    if old and old ~= FORMAT then return nil end
    lock.isNew = true
  elseif fields.format ~= FORMAT then
    return nil
  end
  return lock
end

-- Reads each lock once per call; false for an unknown format.
local locks = {}
local function lockAt(key)
  local lock = locks[key]
  if lock == nil then
    lock = load(key) or false
    locks[key] = lock
  end
  return lock
end

local function expireParts(lock, life)
  local fields, parts = lock.fields, lock.opened or {}
  if lock.prolonged then
    if fields.holders then parts.holders, parts.claims = true, true end
    if fields.owners then parts.owners = true end
    if fields.waiting then parts.queue, parts.alive, parts.claims = true, true, true end
    if fields.named then parts.named = true end
    local key, marker = lock.key, partOf(lock, 'lock')
    call('PEXPIRE', key, life)
    -- Only a new lock writes the marker: an existing one may be on another server while its slot moves.
    if lock.isNew then call('SET', marker, FORMAT, 'PX', life) else call('PEXPIRE', marker, life) end
  end
  for part in pairs(parts) do
    local key = partOf(lock, part)
    call('PEXPIRE', key, life)
  end
  lock.prolonged, lock.opened = nil, nil
end

local function saveFields(lock)
  local key, fields = lock.key, lock.fields
  if not fields.waiting and not isHeld(lock) then
    for _, field in ipairs({ 'mode', 'limit', 'ticket' }) do
      if fields[field] then set(lock, field, nil) end
    end
  end
  if fields.closed and count(lock, 'closed') <= now then set(lock, 'closed', nil) end
  if not fields.format then set(lock, 'format', FORMAT) end
  local kept, gone = {}, {}
  for field in pairs(lock.changed) do
    local value = fields[field]
    if value then
      kept[#kept + 1] = field
      kept[#kept + 1] = value
    else
      gone[#gone + 1] = field
    end
  end
  if #gone > 0 then call('HDEL', key, unpack(gone)) end
  if #kept > 0 then call('HSET', key, unpack(kept)) end
  lock.changed = nil
end

local function save(lock)
  if lock.writes then
    for _, each in ipairs(lock.writes) do
      local key = each[2] == 'state' and lock.key or partOf(lock, each[2])
      call(each[1], key, unpack(each, 3))
    end
    lock.writes, lock.left, lock.skip = nil, {}, 0
  end
  if lock.changed then saveFields(lock) end
  if lock.prolonged or lock.opened then expireParts(lock, count(lock, 'kept') - now) end
end

local function nextSeq(lock)
  return math.max(count(lock, 'seq') + 1, stamp)
end

-- Redis itself takes a microsecond to convert a number.
local function text(number)
  return format('%.0f', number)
end

-- Makes the claim the sole holder of a free lock.
local function grantSole(lock, claim, expires, seq)
  local fields = lock.fields
  fields.mode, fields.id, fields.inbox, fields.label, fields.seq = 'exclusive', claim.id, claim.inbox, claim.label, seq
  fields.since, fields.expires = now, expires
  fields.actor, fields.meta, fields.delay = claim.actor, claim.meta, claim.delay
  local change = { 'HSET', 'state', 'mode', 'exclusive', 'id', claim.id, 'inbox', claim.inbox, 'label', claim.label,
    'since', text(now), 'expires', text(expires), 'seq', text(seq) }
  for _, field in ipairs(SOLE_MORE) do
    if claim[field] then
      change[#change + 1] = field
      change[#change + 1] = claim[field]
    end
  end
  lock.writes = lock.writes or {}
  lock.writes[#lock.writes + 1] = change
  return seq
end

local function dropSole(lock)
  local fields = lock.fields
  fields.id, fields.actor, fields.meta, fields.delay = nil, nil, nil, nil
  if fields.waiting then
    write(lock, 'HDEL', 'state', unpack(SOLE))
  else
    fields.mode = nil
    write(lock, 'HDEL', 'state', 'mode', unpack(SOLE))
  end
end
