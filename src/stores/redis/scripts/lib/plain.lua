-- A plain lock is a key of everybody: its value is the id of the holder, and Redis itself ends it by its time to live.
-- All that only Holdfast knows stands beside it, in keys that have the same name but for one word:
--   holdfast:plain:state:{tag}:key   hash: format, seq (of the last token); of our own holder id, inbox, label, actor, meta,
--                                    since; of a free lock turn (the id of the waiter that was told) and turnEnds
--   holdfast:plain:queue:{tag}:key   sorted set: claim id by its ticket, which is the order of arrival
--   holdfast:plain:alive:{tag}:key   sorted set: claim id of a waiter by the end of its position
--   holdfast:plain:claims:{tag}:key  hash: claim id, and the claim of a waiter as JSON
--   holdfast:plain:{tag}:key         the format alone: processes of format 1 look here, and refuse the key
-- The state and the format are kept for a day after the last hold, so that an old token never comes back. The others end with
-- the last position.
-- @include clock.lua
-- @include notifications.lua
local FORMAT, DAY = '2', 86400000
local HOLDER = { 'id', 'inbox', 'label', 'actor', 'meta', 'since' }
-- So many dead waiters go in one call; the next call goes on.
local room = 100

local function partOf(lock, name)
  if not lock.head then lock.head, lock.tail = string.match(lock.side, '^(.-holdfast:plain:)state:(.*)$') end
  if name == 'format' then return lock.head .. lock.tail end
  return lock.head .. name .. ':' .. lock.tail
end

-- `holder` is false for a free key, and nothing for one that is no text and so no lock. There are no `fields` where the format
-- is not known.
local function load(key, side)
  local lock = { key = key, side = side }
  local holder = redis.pcall('GET', key)
  if type(holder) ~= 'table' then lock.holder = holder end
  local flat = redis.pcall('HGETALL', side)
  if flat.err then return lock end
  local fields = {}
  for at = 1, #flat, 2 do fields[flat[at]] = flat[at + 1] end
  if #flat == 0 then
    local marker = partOf(lock, 'format')
    local old = redis.pcall('GET', marker)
    if old and old ~= FORMAT then return lock end
  elseif fields.format ~= FORMAT then
    return lock
  end
  lock.fields = fields
  return lock
end

local function isFree(lock)
  return lock.holder == false
end

local function isOurs(lock)
  return lock.fields.id == lock.holder
end

local function seqOf(lock)
  return tonumber(lock.fields.seq) or 0
end

-- The state is kept for a day after that time at least, and for some hours more, so that this is done rarely.
local function keep(lock, ttl)
  local side = lock.side
  if call('PTTL', side) >= DAY + ttl then return end
  local marker = partOf(lock, 'format')
  call('PEXPIRE', side, KEEP + ttl)
  call('SET', marker, FORMAT, 'PX', KEEP + ttl)
end

local function nextSeq(lock)
  lock.fields.seq = math.max(seqOf(lock) + 1, stamp)
  return format('%.0f', lock.fields.seq)
end

local function tell(lock, kind, detail)
  local fields = lock.fields
  if isOurs(lock) then post(fields.inbox, kind .. '\0' .. fields.id .. '\0' .. detail .. '\0' .. lock.key) end
end

-- The id of the first waiter, false when nobody waits. It may be dead while there are more of them than one call removes.
local function firstOf(lock)
  if lock.first == nil then
    local queue = partOf(lock, 'queue')
    lock.first = call('ZRANGE', queue, 0, 0)[1] or false
  end
  return lock.first
end

local function hint(lock, id)
  local claims = partOf(lock, 'claims')
  local text = call('HGET', claims, id)
  if text then post(cjson.decode(text).inbox, 'retry\0' .. id .. '\0' .. lock.key) end
end

-- A holder of another library tells nobody when it lets go. The first waiter looks by itself, once it knows that it is the first.
local function leave(lock, ...)
  local queue, alive, claims = partOf(lock, 'queue'), partOf(lock, 'alive'), partOf(lock, 'claims')
  local before = firstOf(lock)
  call('ZREM', alive, ...)
  call('HDEL', claims, ...)
  local left = call('ZREM', queue, ...) > 0
  lock.first = nil
  local first = firstOf(lock)
  if lock.holder and not isOurs(lock) and first and first ~= before then hint(lock, first) end
  return left
end

-- A lock whose dead waiters are gone.
local function lockOf(key, side)
  local lock = load(key, side)
  if not lock.fields or not firstOf(lock) or room == 0 then return lock end
  local alive = partOf(lock, 'alive')
  local dead = call('ZRANGEBYSCORE', alive, '-inf', now, 'LIMIT', 0, room)
  room = room - #dead
  if #dead > 0 then leave(lock, unpack(dead)) end
  return lock
end

-- The waiter that may take a free key, nothing when nobody waits. The first waiter is told, and nobody else: it has the time of
-- an offer to come, and loses its position when it does not. `claimant` needs no telling, because it is here.
local function turnOf(lock, claimant)
  local fields, first, side = lock.fields, firstOf(lock), lock.side
  if first and first ~= claimant and first == fields.turn then
    if tonumber(fields.turnEnds) > now then return first end
    leave(lock, first)
    first = firstOf(lock)
  end
  if not first then return nil end
  if first == claimant then return first end
  fields.turn, fields.turnEnds = first, now + OFFER
  call('HSET', side, 'format', FORMAT, 'turn', first, 'turnEnds', fields.turnEnds)
  keep(lock, 0)
  hint(lock, first)
  return first
end

-- Nobody holds the key any more.
local function free(lock)
  local key, side = lock.key, lock.side
  call('DEL', key)
  call('HDEL', side, unpack(HOLDER))
  lock.holder = false
  turnOf(lock)
end
