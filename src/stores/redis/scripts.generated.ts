// Written by scripts/lua.mjs from scripts/*.lua; do not edit.
const admission = `local function refused(reason, message)
return { 'refused', reason, message }
end
local function wordFor(mode)
return mode == 'permits' and 'a semaphore' or 'a lock'
end
local function mismatch(mode, limit, claim)
if claim.mode == 'permits' and claim.weight > claim.limit then
return refused('limit', format('a weight of %.0f never fits a limit of %.0f', claim.weight, claim.limit))
end
if not mode or (mode ~= 'permits' and claim.mode ~= 'permits') then return nil end
if mode ~= claim.mode then
return refused('mode', 'the key is in use as ' .. wordFor(mode) .. ' and cannot be claimed as ' .. wordFor(claim.mode))
end
if limit ~= claim.limit then
return refused('limit',
format('the key is in use with limit %.0f and cannot be claimed with limit %.0f', limit, claim.limit))
end
end
local function covers(mode, weight, claim)
if mode == 'permits' then return claim.mode == 'permits' and claim.weight <= weight end
return mode == 'exclusive' or claim.mode == 'shared'
end
local function upgrade(mode, own, claim)
if own and not covers(mode, own.weight, claim) then
return refused('upgrade', 'the owner holds the key already, with less than it now asks for: release that first')
end
end
`
const claim = `local function granted(lock, seq, owner)
local contended = lock.fields.waiting
if not owner then return contended and -seq or seq end
return { 'granted', seq, contended and 1 or 0 }
end
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
if not own or own.members == 1 then seq = takeSeq(lock) end
tell(lock, given, 'lost', 'adopted')
keep(lock, expires + (claim.delay or 0))
if lock.fields.id then
dropSole(lock)
grantSole(lock, claim, expires, seq)
else
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
local function firstHolder(lock)
if lock.fields.id then return soleOf(lock), tonumber(lock.fields.expires) end
if not lock.fields.holders then return nil, math.huge end
local key, first = partOf(lock, 'holders'), nil
local id, expires = unpack(call('ZRANGE', key, 0, 0, 'WITHSCORES'))
expires = tonumber(expires) or math.huge
if id then
first = lock.known[id] or claimOf(textOf(lock, id))
end
if lock.writes then
for _, holder in pairs(lock.known) do
if holder and holder.expires < expires then first, expires = holder, holder.expires end
end
end
return first, expires
end
local function endOfOther(lock, claim)
local key = partOf(lock, 'alive')
local soonest = call('ZRANGE', key, 0, 1, 'WITHSCORES')
return tonumber(soonest[soonest[1] == claim.id and 4 or 2]) or math.huge
end
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
`
const clock = `local KEEP = 100000000
local OFFER = 1000
`
const condition = `local function isHeldBy(key, id)
local fields = redis.pcall('HMGET', key, 'format', 'id', 'expires', 'holders')
if fields[1] ~= '2' then return false end
if fields[2] then return fields[2] == id and tonumber(fields[3]) > now end
if not fields[4] then return false end
local head, tail = string.match(key, '^(.-holdfast:)state(:.*)$')
key = head .. 'holders' .. tail
local expires = call('ZSCORE', key, id)
return expires and tonumber(expires) > now
end
local function allows(record, condition, detail)
if condition == 'absent' then return record == nil end
if condition == 'version' then return record ~= nil and record.version == tonumber(detail) end
if condition == 'plain' then return call('GET', KEYS[3]) == detail end
if condition ~= 'held' then return true end
return isHeldBy(KEYS[3], detail)
end
`
const holders = `local DEAD, OFFERS, TOLD = 50, 50, 32
local offered = 0
local MISSED = 60000
local function tell(lock, holder, kind, detail)
post(holder.inbox, kind .. '\\0' .. holder.id .. '\\0' .. detail .. '\\0' .. lock.key)
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
local function open(lock, part)
lock.opened = lock.opened or {}
lock.opened[part] = true
end
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
`
const idle = `local function idleOf(key)
local references = redis.pcall('OBJECT', 'REFCOUNT', key)
local idle = redis.pcall('OBJECT', 'IDLETIME', key)
if type(references) ~= 'number' or references == 2147483647 or type(idle) ~= 'number' then return nil end
return math.max(0, idle - 1)
end
`
const lock = `local FORMAT, DAY = '2', 86400000
local SOLE = { 'id', 'inbox', 'label', 'actor', 'meta', 'since', 'expires', 'delay' }
local SOLE_MORE = { 'actor', 'meta', 'delay' }
local function partOf(lock, name)
if not lock.head then lock.head, lock.tail = string.match(lock.key, '^(.-holdfast:)state(:.*)$') end
return lock.head .. name .. lock.tail
end
local function count(lock, field)
return tonumber(lock.fields[field]) or 0
end
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
local function keep(lock, time)
if time + DAY <= count(lock, 'kept') then return end
set(lock, 'kept', time + KEEP)
lock.prolonged = true
end
local function load(key)
local flat = redis.pcall('HGETALL', key)
if flat.err then return nil end
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
local function text(number)
return format('%.0f', number)
end
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
`
const notifications = `local notifications = {}
local function post(inbox, text)
notifications[#notifications + 1] = { inbox, text }
end
local function deliver()
for _, notification in ipairs(notifications) do call('PUBLISH', 'holdfast:inbox:' .. notification[1], notification[2]) end
notifications = {}
end
`
const plain = `local FORMAT, DAY = '2', 86400000
local HOLDER = { 'id', 'inbox', 'label', 'actor', 'meta', 'since' }
local room = 100
local function partOf(lock, name)
if not lock.head then lock.head, lock.tail = string.match(lock.side, '^(.-holdfast:plain:)state:(.*)$') end
if name == 'format' then return lock.head .. lock.tail end
return lock.head .. name .. ':' .. lock.tail
end
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
if isOurs(lock) then post(fields.inbox, kind .. '\\0' .. fields.id .. '\\0' .. detail .. '\\0' .. lock.key) end
end
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
if text then post(cjson.decode(text).inbox, 'retry\\0' .. id .. '\\0' .. lock.key) end
end
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
local function lockOf(key, side)
local lock = load(key, side)
if not lock.fields or not firstOf(lock) or room == 0 then return lock end
local alive = partOf(lock, 'alive')
local dead = call('ZRANGEBYSCORE', alive, '-inf', now, 'LIMIT', 0, room)
room = room - #dead
if #dead > 0 then leave(lock, unpack(dead)) end
return lock
end
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
local function free(lock)
local key, side = lock.key, lock.side
call('DEL', key)
call('HDEL', side, unpack(HOLDER))
lock.holder = false
turnOf(lock)
end
`
const plainQueue = `local function positionOf(lock, id)
if not firstOf(lock) then return nil end
local queue, alive = partOf(lock, 'queue'), partOf(lock, 'alive')
local expires = call('ZSCORE', alive, id)
if not expires or tonumber(expires) <= now then return nil end
local rank = call('ZRANK', queue, id)
return rank and rank + 1
end
local function stay(lock, id, ttl)
local alive = partOf(lock, 'alive')
call('ZADD', alive, 'GT', now + ttl, id)
for _, name in ipairs({ 'queue', 'alive', 'claims' }) do
local part = partOf(lock, name)
if call('PTTL', part) < ttl then call('PEXPIRE', part, 2 * ttl) end
end
keep(lock, ttl)
end
local function endTurn(lock, id)
local side = lock.side
if lock.fields.turn == id then call('HDEL', side, 'turn', 'turnEnds') end
end
`
const queue = `local function nameOf(claim, ticket)
return claim.owner .. '\\0' .. format('%016.0f', ticket) .. '\\0' .. claim.id
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
local function joinerOf(lock, owners)
if not lock.fields.named then return nil end
local key, first, found = partOf(lock, 'named'), nil, nil
for owner in pairs(owners) do
for _, name in ipairs(call('ZRANGEBYLEX', key, '[' .. owner .. '\\0', '(' .. owner .. '\\1', 'LIMIT', 0, OFFERS)) do
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
post(claim.inbox, format('granted\\0%s\\0%.0f\\0%d\\0%d\\0%.0f\\0%.0f\\0', claim.id, seq, claim.owner and 0 or 255,
lock.fields.waiting and 1 or 0, now, life) .. lock.key)
end
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
`
const record = `local UNKNOWN = 'HOLDFAST_FORMAT the record has an unknown format'
local function readRecord()
local kind = call('TYPE', KEYS[1]).ok
if kind == 'none' then return nil, tonumber(call('GET', KEYS[2]) or 0) end
if kind ~= 'hash' then return redis.error_reply(UNKNOWN) end
local fields = call('HMGET', KEYS[1], 'format', 'version', 'expires', 'units', 'value')
if fields[1] ~= '2' then return redis.error_reply(UNKNOWN) end
local version, expires = tonumber(fields[2]), tonumber(fields[3])
if expires > 0 and expires <= now then return nil, version end
return { version = version, expires = expires, units = tonumber(fields[4]), text = fields[5] }, version
end
local function keepVersion(version, forMs)
call('SET', KEYS[2], format('%.0f', version), 'PX', format('%.0f', forMs + KEEP))
end
local function writeRecord(record)
call('HSET', KEYS[1], 'format', 2, 'version', format('%.0f', record.version), 'expires', format('%.0f', record.expires),
'value', record.text)
if record.units then call('HSET', KEYS[1], 'units', record.units) else call('HDEL', KEYS[1], 'units') end
if record.expires == 0 then
call('PERSIST', KEYS[1])
call('DEL', KEYS[2])
else
call('PEXPIREAT', KEYS[1], format('%.0f', record.expires))
keepVersion(record.version, record.expires - now)
end
end
local function show(record)
return record and { record.version, record.expires, record.text } or false
end
`
const step = `local function deadIn(lock, part)
local key = partOf(lock, part)
return call('ZRANGEBYSCORE', key, '-inf', now, 'LIMIT', 0, DEAD)
end
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
local function attempted(step, ...)
local sound, answer = pcall(step, ...)
if sound then return answer end
local problem = type(answer) == 'table' and answer.err or answer
notifications, locks = {}, {}
if string.find(problem, 'TRYAGAIN', 1, true) or string.find(problem, 'non local key', 1, true) then return nil end
error(answer, 0)
end
`
const stock = `local call = redis.call
local STOCK, UNITS, ENDS = KEYS[1], KEYS[2], KEYS[3]
local REMEMBER_MS = 86400000
local RETURNS = 50
local function whole(number) return string.format('%.0f', number) end
local function nowMs()
local time = call('TIME')
return time[1] * 1000 + math.floor(time[2] / 1000)
end
local function keepEnd(ends, key)
if ends ~= '0' then call('PEXPIREAT', key, ends) end
end
local function amount(goods) return type(goods) == 'table' and #goods or goods end
local function orderText(state, buyer, goods) return state .. #buyer .. ':' .. buyer .. goods end
local function readOrder(order)
local text = call('HGET', STOCK, 'o:' .. order)
if not text then return nil end
local state, length, from = string.match(text, '^(%a)(%d+):()')
return state, string.sub(text, from, from + length - 1), string.sub(text, from + length)
end
local function otherUse(order, kind, buyer, goods)
local state, firstBuyer, firstGoods = readOrder(order)
if not state then return nil end
local first = { kind = state == 'a' and 'add' or 'take', buyer = firstBuyer, count = amount(cjson.decode(firstGoods)) }
local same = firstGoods == '0' or kind == 'add' and firstGoods == goods or kind == 'take' and first.count == tonumber(goods)
if first.kind == kind and firstBuyer == buyer and same then return nil end
return cjson.encode(first)
end
local function putBack(stock, goods, buyer)
if stock.named then
for _, unit in ipairs(goods) do call('RPUSH', UNITS, unit) end
keepEnd(stock.ends, UNITS)
end
stock.left = stock.left + amount(goods)
if buyer ~= '' and call('HINCRBY', STOCK, 'b:' .. buyer, -amount(goods)) <= 0 then
call('HDEL', STOCK, 'b:' .. buyer)
end
end
local function returnExpired(stock)
local now = nowMs()
local expired = call('ZRANGEBYSCORE', ENDS, '-inf', whole(now), 'LIMIT', 0, RETURNS)
for _, id in ipairs(expired) do
local state, buyer, text = readOrder(id)
if state == 'h' then
local goods = cjson.decode(text)
putBack(stock, goods, buyer)
stock.held = stock.held - amount(goods)
call('HSET', STOCK, 'o:' .. id, orderText('k', buyer, amount(goods)))
call('ZADD', ENDS, whole(now + REMEMBER_MS), id)
else
call('HDEL', STOCK, 'o:' .. id)
call('ZREM', ENDS, id)
end
end
return #expired < RETURNS
end
local function save(stock)
local left, held = not stock.named and stock.left or 0, stock.held
if left ~= tonumber(stock.was[2]) or held ~= tonumber(stock.was[3]) then call('HSET', STOCK, 'left', left, 'held', held) end
end
local function load()
local fields = call('HMGET', STOCK, 'head', 'left', 'held')
local head = fields[1] or ''
if string.byte(head) == 50 then
call('HSET', STOCK, 'head', '3' .. string.sub(head, 2))
elseif string.byte(head) ~= 51 then
if call('EXISTS', STOCK) == 0 then return nil end
return nil, { err = 'HOLDFAST_FORMAT the stock has an unknown format' }
end
local named = string.byte(head, 2) == 110
local stock = { named = named, left = named and call('LLEN', UNITS) or tonumber(fields[2]), held = tonumber(fields[3]),
ends = string.sub(head, 3), was = fields }
if stock.held > 0 and not returnExpired(stock) then
save(stock)
return nil, 'again'
end
return stock
end
`
const time = `local call, byte, sub, format = redis.call, string.byte, string.sub, string.format
local time = call('TIME')
local stamp = time[1] * 1000000 + time[2]
local now = math.floor(stamp / 1000)
`

export const SCRIPTS = {
  attempt: {
    sha: 'cbe0136a57877adae67147952a90828db4056f30',
    source: `#!lua
${time}${clock}${lock}local answers, steps = {}, nil
local function makeSteps()
${notifications}${admission}${holders}${queue}${step}${claim}local function claimOne(key, claim)
local lock = lockOf(key)
if not lock then return { 'format' } end
local answer = applyClaim(lock, claim)
save(lock)
deliver()
return answer
end
local function claimGroup(claims, first, last)
for index = first, last do lockOf(KEYS[index]) end
for index = first, last do
local lock = lockOf(KEYS[index])
local answer = lock and applyClaim(lock, claims[index]) or { 'format' }
if type(answer) == 'table' and answer[1] ~= 'granted' then
notifications = {}
for other = first, last do
locks[KEYS[other]] = nil
answers[other] = { 'blocked', 0, -1, now }
end
answers[index] = answer
return true
end
answers[index] = answer
end
for index = first, last do save(locks[KEYS[index]]) end
deliver()
return true
end
return { one = claimOne, group = claimGroup, attempted = attempted }
end
local function claimFree(key, claim)
if claim.mode ~= 'exclusive' or claim.owner or claim.replaces then return nil end
local lock = lockAt(key)
if not lock or isHeld(lock) or lock.fields.waiting or lock.fields.closed or lock.fields.missed then return nil end
local seq = grantSole(lock, claim, now + claim.ttl, nextSeq(lock))
keep(lock, now + claim.ttl + (claim.delay or 0))
save(lock)
return seq
end
local claims = {}
for index = 1, #KEYS do
claims[index] = cjson.decode(ARGV[index])
claims[index].text = ARGV[index]
end
local index = 1
while index <= #KEYS do
local claim, last = claims[index], index
claim.weight = claim.weight or 1
answers[index] = not claim.group and claimFree(KEYS[index], claim) or nil
if not answers[index] then
steps = steps or makeSteps()
if claim.group then
while claims[last + 1] and claims[last + 1].group == claim.group do
last = last + 1
claims[last].weight = claims[last].weight or 1
end
if not steps.attempted(steps.group, claims, index, last) then
for member = index, last do answers[member] = { 'again' } end
end
else
answers[index] = steps.attempted(steps.one, KEYS[index], claim) or { 'again' }
end
end
index = last + 1
end
return answers
`,
  },
  evict: {
    sha: '6154df88ff8d1c01a9a06938071fe5afca3beb1c',
    source: `#!lua flags=allow-oom
${time}${clock}${lock}${notifications}${admission}${holders}${queue}${step}local PORTION = 50
local lock = lockOf(KEYS[1])
if not lock then return -1 end
local ask, seq, from = ARGV[1] == 'ask', tonumber(ARGV[2]), tonumber(ARGV[3])
local function nextHolders()
if lock.fields.id then return { soleOf(lock) } end
local holders = {}
if not lock.fields.holders then return holders end
local key = partOf(lock, 'holders')
for _, id in ipairs(call('ZRANGE', key, from, from + PORTION - 1)) do
holders[#holders + 1] = holderOf(lock, id)
end
return holders
end
local labels, kept, holders = {}, from, nextHolders()
for _, holder in ipairs(holders) do
local own = ownHold(lock, holder)
if seq and (own or holder).seq ~= seq then
kept = kept + 1
else
labels[#labels + 1] = holder.label
tell(lock, holder, ask and 'revoked' or 'lost', ask and '' or 'evicted')
if ask then kept = kept + 1 else drop(lock, holder) end
end
end
local more = #holders == PORTION
if not ask and #labels > 0 then
takeSeq(lock)
if not more then promote(lock) end
end
save(lock)
deliver()
return { more and kept or -1, unpack(labels) }
`,
  },
  foreignLook: {
    sha: 'fd3277f441e4d3b8157ae9a6d8cf7a55928fca23',
    source: `${time}${clock}${idle}local answers = {}
for index = 1, #KEYS do
local key = KEYS[index]
local kind = call('TYPE', key).ok
local idle = idleOf(key) or -1
local proof = ''
if ARGV[1] == '1' and kind == 'string' then proof = redis.sha1hex(call('GET', key)) end
answers[index] = { call('PTTL', key) == -1 and 1 or 0, kind, idle, proof }
end
return answers
`,
  },
  foreignReap: {
    sha: '1c58eed9c15a197e57136a22d3b9563ceb87639a',
    source: `${time}${clock}${idle}local key, least, proof = KEYS[1], tonumber(ARGV[1]), ARGV[2]
if call('PTTL', key) ~= -1 then return 0 end
if least > 0 then
local idle = idleOf(key)
if not idle or idle < least then return 0 end
end
if proof ~= '' and (call('TYPE', key).ok ~= 'string' or redis.sha1hex(call('GET', key)) ~= proof) then return 0 end
return call('UNLINK', key)
`,
  },
  plainAttempt: {
    sha: '03e1f66bfd19ae1c10f64a9687e25bf99a169840',
    source: `#!lua
${time}${clock}${notifications}${plain}${plainQueue}local LOOK = 100
local LEFTOVERS = { 'actor', 'meta', 'turn', 'turnEnds' }
local function granted(lock)
local seq = seqOf(lock)
return firstOf(lock) and -seq or seq
end
local function grant(lock, claim)
local key, side, fields, gone = lock.key, lock.side, lock.fields, {}
if firstOf(lock) then leave(lock, claim.id) end
call('SET', key, claim.id, 'PX', claim.ttl)
for _, field in ipairs(LEFTOVERS) do
if fields[field] then gone[#gone + 1] = field end
end
if #gone > 0 then call('HDEL', side, unpack(gone)) end
local state = { 'format', FORMAT, 'seq', nextSeq(lock), 'id', claim.id, 'inbox', claim.inbox, 'label', claim.label,
'since', now }
for _, field in ipairs({ 'actor', 'meta' }) do
if claim[field] then
state[#state + 1] = field
state[#state + 1] = claim[field]
end
end
call('HSET', side, unpack(state))
keep(lock, claim.ttl)
return granted(lock)
end
local function again(lock, claim)
local key = lock.key
if not isOurs(lock) then return grant(lock, claim) end
if claim.ttl > call('PTTL', key) then
call('PEXPIRE', key, claim.ttl)
keep(lock, claim.ttl)
end
return granted(lock)
end
local function join(lock, claim)
local queue, claims, side = partOf(lock, 'queue'), partOf(lock, 'claims'), lock.side
local position = positionOf(lock, claim.id)
if not position then
if not firstOf(lock) then tell(lock, 'contended', '') end
if not lock.fields.format then call('HSET', side, 'format', FORMAT) end
local last = call('ZRANGE', queue, -1, -1, 'WITHSCORES')
call('ZADD', queue, (last[2] or 0) + 1, claim.id)
call('HSET', claims, claim.id, format('{"joined":%.0f,', now) .. sub(claim.text, 2))
lock.first = nil
position = call('ZRANK', queue, claim.id) + 1
end
stay(lock, claim.id, claim.ttl)
return position
end
local function block(lock, claim)
local key, fields = lock.key, lock.fields
local position = claim.queue and join(lock, claim) or 0
if isFree(lock) then return { 'blocked', position, math.max(1, fields.turnEnds - now), now } end
endTurn(lock, claim.id)
local life = call('PTTL', key)
if not isOurs(lock) then return { 'blocked', position, life < 0 and LOOK or math.min(life, LOOK), now, '', -1 } end
return { 'blocked', position, life, now, fields.label, now - fields.since }
end
local function claimOne(lock, claim)
if not lock.fields then return { 'format' } end
if lock.holder == nil then
return { 'refused', 'mode', 'the key holds data in Redis that are no text, and so no lock' }
end
if lock.holder == claim.id then return again(lock, claim) end
if claim.replaces then
if lock.holder ~= claim.replaces then return { 'refused', 'absent', 'the lease to adopt is no longer held' } end
tell(lock, 'lost', 'adopted')
return grant(lock, claim)
end
if isFree(lock) and (turnOf(lock, claim.id) or claim.id) == claim.id then return grant(lock, claim) end
return block(lock, claim)
end
local answers = {}
for index = 1, #ARGV do
local claim = cjson.decode(ARGV[index])
claim.text = ARGV[index]
answers[index] = claimOne(lockOf(KEYS[2 * index - 1], KEYS[2 * index]), claim)
end
deliver()
return answers
`,
  },
  plainEvict: {
    sha: '0d8fe0ac6de18a1666ff4988ac98ec5215f4e44c',
    source: `#!lua flags=allow-oom
${time}${clock}${notifications}${plain}local lock, ask, seq = lockOf(KEYS[1], KEYS[2]), ARGV[1] == 'ask', tonumber(ARGV[2])
if not lock.fields then return -1 end
if not lock.holder then return {} end
local ours, label, side = isOurs(lock), '', lock.side
if seq and not (ours and seqOf(lock) == seq) then return {} end
if not ours and ask then return { '' } end
if ours then
label = lock.fields.label
tell(lock, ask and 'revoked' or 'lost', ask and '' or 'evicted')
end
if not ask then
call('HSET', side, 'format', FORMAT, 'seq', nextSeq(lock))
keep(lock, 0)
free(lock)
end
deliver()
return { label }
`,
  },
  plainRead: {
    sha: '85ffda76a93a8b6285e4a211b8754d4529cad569',
    source: `${time}${clock}${notifications}${plain}local most, from = tonumber(ARGV[1]), tonumber(ARGV[2])
local function show(lock)
local fields, texts, ends, key = lock.fields, {}, {}, lock.key
if not fields then return -1 end
local queue, alive, claims = partOf(lock, 'queue'), partOf(lock, 'alive'), partOf(lock, 'claims')
for place, id in ipairs(call('ZRANGE', queue, from, from + most - 1)) do
texts[place], ends[place] = call('HGET', claims, id) or '{}', call('ZSCORE', alive, id) or '0'
end
if not lock.holder then return { seqOf(lock), texts, ends } end
local life = call('PTTL', key)
if not isOurs(lock) then return { seqOf(lock), texts, ends, life } end
return { seqOf(lock), texts, ends, life, now - fields.since, fields.label, fields.actor or '', fields.meta or '' }
end
local answers = { now }
for index = 1, #KEYS / 2 do answers[index + 1] = show(load(KEYS[2 * index - 1], KEYS[2 * index])) end
return answers
`,
  },
  plainRelease: {
    sha: 'b50dc4d5940a8a19877bc18e5d6b87e45ddb9a1d',
    source: `#!lua flags=allow-oom
${time}${clock}${notifications}${plain}local function release(lock, id)
if not lock.fields then return -1 end
if lock.holder == id then
free(lock)
return 1
end
if not firstOf(lock) or not leave(lock, id) then return 0 end
if isFree(lock) then turnOf(lock) end
return 1
end
local answers = {}
for index = 1, #ARGV do
answers[index] = release(lockOf(KEYS[2 * index - 1], KEYS[2 * index]), ARGV[index])
end
deliver()
return answers
`,
  },
  plainRenew: {
    sha: '1d4d710cce7b26968b53fe0bf50939f81fcab105',
    source: `#!lua flags=allow-oom
${time}${clock}${notifications}${plain}${plainQueue}local function renewWaiter(lock, ttl, id)
local position = positionOf(lock, id)
if not position then return 0 end
stay(lock, id, ttl)
if isFree(lock) then
turnOf(lock)
position = positionOf(lock, id)
else
endTurn(lock, id)
end
return position and { position, now } or 0
end
local function renew(lock, ttl, id)
local key = lock.key
if not lock.fields then return lock.holder == id and -1 or 0 end
if lock.holder ~= id then return renewWaiter(lock, ttl, id) end
if ttl > call('PTTL', key) then
call('PEXPIRE', key, ttl)
keep(lock, ttl)
end
return firstOf(lock) and 2 or 1
end
local answers = {}
for index = 1, #ARGV do
local ttl, id = string.match(ARGV[index], '^(%d+) (.*)$')
answers[index] = renew(lockOf(KEYS[2 * index - 1], KEYS[2 * index]), tonumber(ttl), id)
end
deliver()
return answers
`,
  },
  read: {
    sha: '0219b1a85f8f0f95373a2e9d00c92600fdebae53',
    source: `${time}${clock}${lock}local most, from = tonumber(ARGV[1]), tonumber(ARGV[2])
local function holdersOf(lock)
local texts, ends, owners = {}, {}, {}
if not lock.fields.holders then return texts, ends, owners end
local key, claims, names = partOf(lock, 'holders'), partOf(lock, 'claims'), partOf(lock, 'owners')
local flat = call('ZRANGE', key, from, from + most - 1, 'WITHSCORES')
for at = 1, #flat, 2 do
local text = call('HGET', claims, flat[at]) or '{}'
texts[#texts + 1], ends[#ends + 1] = text, flat[at + 1]
local owner = lock.fields.owners and cjson.decode(text).owner
local own = owner and call('HGET', names, owner)
if own then
owners[#owners + 1] = owner
owners[#owners + 1] = own
end
end
return texts, ends, owners
end
local function waitersOf(lock)
local texts, ends = {}, {}
if not lock.fields.waiting then return texts, ends end
local key, alive, claims = partOf(lock, 'queue'), partOf(lock, 'alive'), partOf(lock, 'claims')
for _, id in ipairs(call('ZRANGE', key, from, from + most - 1)) do
texts[#texts + 1], ends[#ends + 1] = call('HGET', claims, id) or '{}', call('ZSCORE', alive, id) or '0'
end
return texts, ends
end
local function show(key)
local lock = load(key)
if not lock then return -1 end
local fields = {}
for field, value in pairs(lock.fields) do
if value then
fields[#fields + 1] = field
fields[#fields + 1] = value
end
end
local holders, holdersEnds, owners = holdersOf(lock)
local waiters, waitersEnds = waitersOf(lock)
return { fields, holders, holdersEnds, waiters, waitersEnds, owners }
end
local answers = { stamp }
for index = 1, #KEYS do answers[index + 1] = show(KEYS[index]) end
return answers
`,
  },
  recordRead: {
    sha: '7bae4f206cc136106492d03a5d9782596ec49978',
    source: `${time}${clock}${record}local record = readRecord()
if record and record.err then return record end
return show(record)
`,
  },
  recordRemove: {
    sha: '0c550c92307ef09fe1390fe0b6790ebe643b8399',
    source: `#!lua flags=allow-oom
${time}${clock}${record}${condition}local record, last = readRecord()
if record and record.err then return record end
if not record or not allows(record, ARGV[1], ARGV[2]) then return 0 end
call('UNLINK', KEYS[1])
keepVersion(last, 0)
return 1
`,
  },
  recordTake: {
    sha: 'c0aa29b8e89fbda482b5ff8348ac1a21e2f68416',
    source: `${time}${clock}${record}local UNFIT = 'HOLDFAST_STOCK only a whole number or a list of texts can be taken from'
local record = readRecord()
if not record then return false end
if record.err then return record end
local count, text = tonumber(ARGV[1]), record.text
local function endOf(from)
local at = from + 1
while true do
local stop = string.find(text, '["\\\\]', at)
if not stop then return nil end
if byte(text, stop) == 34 then return stop end
at = stop + 2
end
end
local function unitAfter(at)
local from = string.match(text, '^%s*()"', at)
local stop = from and endOf(from)
if not stop then return nil end
local sign, next_ = string.match(text, '^%s*([,%]])()', stop + 1)
return from, stop, sign, next_
end
local function countUnits()
local at, units = string.match(text, '^%s*%[()'), 0
if string.match(text, '^%s*%]%s*$', at) then return 0 end
while true do
local from, _, sign, next_ = unitAfter(at)
if not from or not sign then return nil end
units, at = units + 1, next_
if sign == ']' then return string.match(text, '^%s*$', at) and units end
end
end
local isList = string.match(text, '^%s*%[') ~= nil
local available = tonumber(string.match(text, '^%s*(-?%d+)%s*$'))
if isList then
available = record.units or countUnits()
elseif available and math.abs(available) > 9007199254740991 then
available = nil
end
if not available then return redis.error_reply(UNFIT) end
if available < count then return { available } end
local version = math.max(record.version + 1, stamp)
local left, taken = available - count, '[]'
if isList then
local at, units = string.match(text, '^%s*%[()'), {}
for unit = 1, count do
local from, stop, _, next_ = unitAfter(at)
units[unit], at = sub(text, from, stop), next_
end
taken = '[' .. table.concat(units, ',') .. ']'
text = left == 0 and '[]' or '[' .. sub(text, at)
else
text = format('%.0f', left)
end
writeRecord({ version = version, expires = record.expires, units = isList and left or nil, text = text })
return { left, version, taken }
`,
  },
  recordWrite: {
    sha: '5684a9d36ffb77fa5641f28e2fe48ee575d88fe9',
    source: `${time}${clock}${record}${condition}local record, last = readRecord()
if record and record.err then return record end
if not allows(record, ARGV[3], ARGV[4]) then return show(record) end
local version = math.max(last + 1, stamp)
local ttl = tonumber(ARGV[2])
writeRecord({ version = version, expires = ttl and now + ttl or 0, text = ARGV[1] })
return version
`,
  },
  release: {
    sha: '163c499fcd486591fb973a3d85d530b2c19dfe15',
    source: `#!lua flags=allow-oom
${time}${clock}${lock}local steps = nil
local function makeSteps()
${notifications}${admission}${holders}${queue}${step}local function release(key, id)
local lock = lockOf(key)
if not lock then return -1 end
local holder = holderOf(lock, id)
if holder then drop(lock, holder)
elseif waits(lock, id) then leave(lock, id)
else return 0 end
promote(lock)
save(lock)
deliver()
return 1
end
return { release = release, attempted = attempted }
end
local function releaseSole(key, id)
local fields = redis.pcall('HMGET', key, 'format', 'id', 'waiting', 'expires')
if fields[1] ~= FORMAT or fields[2] ~= id or fields[3] or tonumber(fields[4]) <= now then return nil end
call('HDEL', key, 'mode', unpack(SOLE))
locks[key] = nil
return 1
end
local answers, all = {}, true
for index = 1, #KEYS do
local key, id = KEYS[index], ARGV[index]
local answer = releaseSole(key, id)
if not answer then
steps = steps or makeSteps()
answer = steps.attempted(steps.release, key, id) or -2
end
answers[index] = answer
all = all and answer == 1
end
return all and 1 or answers
`,
  },
  renew: {
    sha: 'c96a404301c3603a57a16c622ee9d2fdcbf520d8',
    source: `#!lua flags=allow-oom
${time}${clock}${lock}local steps = nil
local function makeSteps()
${notifications}${admission}${holders}${queue}${step}local function renewHolder(lock, id, expires, ttl)
if now + ttl > expires then
keep(lock, now + ttl + count(lock, 'delay'))
if lock.fields.id then set(lock, 'expires', now + ttl) else write(lock, 'ZADD', 'holders', now + ttl, id) end
end
if not lock.fields.named then return end
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
`,
  },
  stockAdd: {
    sha: '4447241a42a48cbb00a1b6fd0826b0ee9db0ad86',
    source: `${stock}local stock, instead = load()
if not stock then return instead end
local goods = cjson.decode(ARGV[2])
local fits = (type(goods) == 'table') == stock.named
if fits and call('HSETNX', STOCK, 'o:' .. ARGV[1], orderText('a', '', ARGV[2])) == 1 then
putBack(stock, goods, '')
call('HINCRBY', STOCK, 'total', amount(goods))
end
save(stock)
return not fits and 'unfit' or otherUse(ARGV[1], 'add', '', ARGV[2]) or 'added'
`,
  },
  stockLook: {
    sha: '7b2e52486fa8e70e911107cab29b7dbfd1082a4f',
    source: `${stock}local stock, instead = load()
if not stock then return instead end
save(stock)
local sold = call('HGET', STOCK, 'total') - stock.left - stock.held
local answer = { stock.left, stock.held, 0 }
for _, id in ipairs(call('ZRANGEBYSCORE', ENDS, '+inf', '+inf')) do
local _, _, goods = readOrder(id)
sold = sold - amount(cjson.decode(goods))
answer[#answer + 1] = id
answer[#answer + 1] = goods
end
answer[3] = sold
return answer
`,
  },
  stockOpen: {
    sha: '6e5094ecb3618efe01204d5a5f8c06870c1c342b',
    source: `${stock}local stock, instead = load()
if instead then return instead end
if stock then
save(stock)
return { 0, call('HGET', STOCK, 'opening') }
end
local goods = cjson.decode(ARGV[1])
local named = type(goods) == 'table'
local ends = ARGV[2] == '' and '0' or whole(nowMs() + tonumber(ARGV[2]))
call('HSET', STOCK, 'head', (named and '3n' or '3c') .. ends, 'left', named and 0 or goods, 'held', 0, 'total', amount(goods),
'opening', ARGV[1])
if named then
for _, unit in ipairs(goods) do call('RPUSH', UNITS, unit) end
keepEnd(ends, UNITS)
end
keepEnd(ends, STOCK)
return { 1, ARGV[1] }
`,
  },
  stockRegister: {
    sha: '9f1b4a91424fc8dcb9675537fd8778e227948bca',
    source: `${stock}local stock, instead = load()
if not stock then return instead end
save(stock)
if ARGV[4] == 'register' then call('HSETNX', STOCK, 'o:' .. ARGV[1], orderText('k', ARGV[2], ARGV[3])) end
return otherUse(ARGV[1], 'take', ARGV[2], ARGV[3]) or 'fits'
`,
  },
  stockSell: {
    sha: 'f77b1fa903f229eede4e85e9d16abf6dd955a0b4',
    source: `local call, STOCK, UNITS = redis.call, KEYS[1], KEYS[2]
local order, buyer, count, goods = 'o:' .. ARGV[1], ARGV[2], ARGV[3], nil
if UNITS then
local unit = call('LINDEX', UNITS, 0)
goods = unit and cjson.encode({ unit })
elseif call('HINCRBY', STOCK, 'left', '-' .. count) >= 0 then
goods = count
end
local new = goods and call('HSETNX', STOCK, order, 's' .. #buyer .. ':' .. buyer .. goods) == 1
local has = new and call('HINCRBY', STOCK, 'b:' .. buyer, count)
if new and has <= tonumber(ARGV[4] or has) then
if UNITS then call('LPOP', UNITS) end
return tonumber(goods) or goods
end
if new then
call('HDEL', STOCK, order)
if call('HINCRBY', STOCK, 'b:' .. buyer, '-' .. count) == 0 then call('HDEL', STOCK, 'b:' .. buyer) end
end
if not UNITS and call('HINCRBY', STOCK, 'left', count) == 0 and call('HLEN', STOCK) == 1 then call('DEL', STOCK) end
return false
`,
  },
  stockSettle: {
    sha: '63873dc78f4d4415ed0eeee5b4ac46ae3e681d3e',
    source: `#!lua flags=allow-oom
${stock}local id, deal = ARGV[1], ARGV[2]
local stock, instead = load()
if not stock then return instead end
local function settle()
local state, buyer, text = readOrder(id)
if deal == 'ship' and state == 'm' then
call('HINCRBY', STOCK, 'total', -amount(cjson.decode(text)))
call('HDEL', STOCK, 'o:' .. id)
call('ZREM', ENDS, id)
return 'settled'
end
if deal ~= 'ship' and (state == 'h' or state == 's') then
local goods, back = cjson.decode(text), deal == 'giveBack'
if state == 'h' then
stock.held = stock.held - amount(goods)
call('ZREM', ENDS, id)
end
if back then putBack(stock, goods, buyer) end
call('HSET', STOCK, 'o:' .. id, back and orderText('r', buyer, amount(goods)) or orderText('s', buyer, text))
return 'settled'
end
if state == 'r' then return deal == 'giveBack' and 'settled' or 'returned' end
return 'unknown'
end
local answer = settle()
save(stock)
return answer
`,
  },
  stockTake: {
    sha: '02384aea7689428a18afaa5165861c626d608fab',
    source: `${stock}local stock, instead = load()
if not stock then return instead end
local function answerAgain(order, buyer, count)
local other = otherUse(order, 'take', buyer, count)
if other then return other end
local state, _, goods = readOrder(order)
if state and state ~= 'k' then return state == 'r' and 'returned' or tonumber(goods) or goods end
end
local function pick(count)
if not stock.named then return count end
if count == 1 then return cjson.encode({ call('LPOP', UNITS) }) end
local units = call('LRANGE', UNITS, 0, count - 1)
call('LTRIM', UNITS, count, -1)
return cjson.encode(units)
end
local function unpick(goods)
if not stock.named then return end
local units = cjson.decode(goods)
for index = #units, 1, -1 do call('LPUSH', UNITS, units[index]) end
keepEnd(stock.ends, UNITS)
end
local function take(order, buyer, count, perBuyer, hold)
if stock.left < count then
local has = tonumber(buyer ~= '' and call('HGET', STOCK, 'b:' .. buyer) or 0)
return answerAgain(order, buyer, count) or perBuyer and has + count > perBuyer and 'limit ' .. has or 'short ' .. stock.left
end
local goods, state = pick(count), buyer == '' and 'm' or hold and 'h' or 's'
local text, kept = orderText(state, buyer, goods), nil
if call('HSETNX', STOCK, 'o:' .. order, text) == 0 then
local answer = answerAgain(order, buyer, count)
if answer then
unpick(goods)
return answer
end
kept = orderText('k', buyer, count)
call('HSET', STOCK, 'o:' .. order, text)
end
local has = buyer == '' and count or call('HINCRBY', STOCK, 'b:' .. buyer, count)
if perBuyer and has > perBuyer then
unpick(goods)
if kept then call('HSET', STOCK, 'o:' .. order, kept) else call('HDEL', STOCK, 'o:' .. order) end
if buyer ~= '' and call('HINCRBY', STOCK, 'b:' .. buyer, -count) == 0 then call('HDEL', STOCK, 'b:' .. buyer) end
return 'limit ' .. has - count
end
stock.left = stock.left - count
if state ~= 's' then
if state == 'h' then stock.held = stock.held + count end
call('ZADD', ENDS, state == 'h' and whole(nowMs() + hold) or '+inf', order)
keepEnd(stock.ends, ENDS)
elseif kept then
call('ZREM', ENDS, order)
end
return goods
end
local answers = {}
for index = 1, #ARGV, 5 do
answers[#answers + 1] = take(ARGV[index], ARGV[index + 1], tonumber(ARGV[index + 2]), tonumber(ARGV[index + 3]),
tonumber(ARGV[index + 4]))
end
save(stock)
return answers
`,
  },
  stockTidy: {
    sha: '0d8d02783316d93eb4306cf485bbe894f289f372',
    source: `${time}${clock}if call('EXISTS', KEYS[1]) == 1 then return 0 end
return call('UNLINK', KEYS[2], KEYS[3])
`,
  },
  tidy: {
    sha: '35c91691f3618f408381ed37eda1dfbdfca51774',
    source: `${time}${clock}${lock}${notifications}${admission}${holders}${queue}${step}local key = KEYS[1]
local before = call('HGETALL', key)
local lock = lockOf(key)
if not lock then return -1 end
if #before == 0 then return 0 end
local endless = call('PTTL', key) == -1
if endless then
set(lock, 'kept', now + KEEP)
lock.prolonged = true
save(lock)
end
local after = call('HGETALL', key)
return (endless or table.concat(before, '\\0') ~= table.concat(after, '\\0')) and 1 or 0
`,
  },
} as const
