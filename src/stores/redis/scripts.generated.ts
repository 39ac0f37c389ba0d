// Written by scripts/lua.mjs from scripts/*.lua; do not edit.
const claim = `local function granted(state, hold)
local contended = #state.line > 0
if not hold[1] then return contended and -hold[5] or hold[5] end
return { 'granted', hold[5], flag(contended) }
end
local function refused(reason, message)
return { 'refused', reason, message }
end
local function nameOf(kind)
return kind == 'p' and 'a semaphore' or 'a lock'
end
local function mismatch(state, claim)
if claim.kind == 'p' and claim.weight > claim.limit then
return refused('limit', format('a weight of %.0f never fits a limit of %.0f', claim.weight, claim.limit))
end
local hold = state.holds[1]
local kind, limit
if hold then
kind, limit = hold[2], hold[3]
elseif #state.line > 0 then
local head = claimOf(state.line[1][3])
kind, limit = head.kind, head.limit
end
if not kind or (kind ~= 'p' and claim.kind ~= 'p') then return nil end
if kind ~= claim.kind then
return refused('mode', 'the key is in use as ' .. nameOf(kind) .. ' and cannot be claimed as ' .. nameOf(claim.kind))
end
if limit ~= claim.limit then
return refused('limit',
format('the key is in use with limit %.0f and cannot be claimed with limit %.0f', limit, claim.limit))
end
end
local function upgrade(state, claim)
local own = ownHold(state, claim)
if own and not covers(own, claim) then
return refused('upgrade', 'the owner holds the key already, with less than it now asks for: release that first')
end
end
local function reclaim(state, claim, hold, index)
if not covers(hold, claim) then
return refused('upgrade', 'a shared lease cannot become an exclusive one: release it first')
end
local member = hold[6][index]
member[1] = math.max(member[1], now + claim.ttl)
state.changed = true
if hold[2] == 'e' and claim.kind == 's' and #hold[6] == 1 then
hold[2] = 's'
promote(state)
end
return granted(state, hold)
end
local function adopt(state, claim)
local hold, index = memberOf(state, claim.replaces)
if not hold then return refused('absent', 'the lease to adopt is no longer held') end
if not covers(hold, claim) then
return refused('upgrade', 'the lease to adopt gives less than its adopter asks for')
end
if #hold[6] == 1 then hold[5] = takeSeq(state) end
tell(hold[6][index], 'lost', 'adopted')
hold[6][index] = { now + claim.ttl, now, claim.tail }
state.changed = true
return granted(state, hold)
end
local function retryAfter(state, before)
local at = state.closed > now and state.closed or math.huge
for _, hold in ipairs(state.holds) do
for _, member in ipairs(hold[6]) do at = math.min(at, member[1]) end
end
for place = 1, before do at = math.min(at, state.line[place][1]) end
return at == math.huge and -1 or at - now
end
local function tellHolders(state)
for _, hold in ipairs(state.holds) do
if hold[2] == 'e' then
for _, member in ipairs(hold[6]) do tell(member, 'contended', '') end
end
end
end
local function block(state, claim, waiting)
local line, place = state.line, waiting
if waiting then
line[waiting][1] = math.max(line[waiting][1], now + claim.ttl)
state.changed = true
elseif claim.queue and not claim.group then
if #line == 0 then tellHolders(state) end
line[#line + 1] = { now + claim.ttl, now, claim.argument }
place = #line
state.changed = true
end
local answer = { 'blocked', place or 0, retryAfter(state, place and place - 1 or #line), now }
local first = state.holds[1]
if first then
local member = first[6][1]
local _, _, label = string.match(member[3], TAIL)
answer[5], answer[6] = label, now - member[2]
end
return answer
end
local function applyClaim(state, claim)
local hold, index = memberOf(state, claim.id)
if hold then return reclaim(state, claim, hold, index) end
if claim.replaces then return adopt(state, claim) end
local refusal = mismatch(state, claim) or upgrade(state, claim)
if refusal then
if leave(state, claim.id) then promote(state) end
return refusal
end
local waiting = placeOf(state, claim.id)
if joins(state, claim) or (not waiting and #state.line == 0 and admits(state, claim)) then
leave(state, claim.id)
return granted(state, grant(state, claim, claim.ttl))
end
return block(state, claim, waiting)
end
`
const clock = `local stamp, now = tonumber(stampText), tonumber(nowText)
local KEEP = 100000000
local period, HOUR = sub(nowText, 1, 6), '0003600000'
local OFFER = 1000
`
const condition = `local function allows(record, condition, detail)
if condition == 'absent' then return record == nil end
if condition == 'version' then return record ~= nil and record.version == tonumber(detail) end
if condition == 'plain' then return call('GET', KEYS[2]) == detail end
if condition ~= 'held' then return true end
local state = load(call('GET', KEYS[2]))
if not state then return false end
keyName = KEYS[2]
sweep(state)
return memberOf(state, detail) ~= nil
end
`
const plain = `local letters = {}
local function post(inbox, text)
letters[#letters + 1] = { inbox, text }
end
local function deliver()
for _, letter in ipairs(letters) do call('PUBLISH', 'holdfast:inbox:' .. letter[1], letter[2]) end
letters = {}
end
local function holderOf(key)
local value = redis.pcall('GET', key)
if type(value) == 'table' then return nil end
return value
end
local function loadSide(side)
local value = call('GET', side)
if not value then return { seq = 0, id = '', since = 0, inbox = '', tail = '', waiters = {} } end
if sub(value, 1, 2) ~= '1p' then return nil end
local all = cmsgpack.unpack(sub(value, 3))
return { seq = all[1], id = all[2], since = all[3], inbox = all[4], tail = all[5], waiters = all[6] }
end
local function saveSide(side, state, ttl)
local packed = cmsgpack.pack({ state.seq, state.id, state.since, state.inbox, state.tail, state.waiters })
call('SET', side, '1p' .. packed, 'PX', format('%.0f', KEEP + ttl))
end
local function takeSeq(state)
state.seq = math.max(state.seq + 1, stamp)
return state.seq
end
local function leave(state, id)
for place, waiter in ipairs(state.waiters) do
if waiter[2] == id then
table.remove(state.waiters, place)
return true
end
end
return false
end
local function wake(state, key)
for _, waiter in ipairs(state.waiters) do
post(waiter[3], 'lost\\0' .. waiter[2] .. '\\0expired\\0' .. key)
end
state.waiters = {}
end
local function tell(state, key, kind, detail)
if state.id ~= '' then post(state.inbox, kind .. '\\0' .. state.id .. '\\0' .. detail .. '\\0' .. key) end
end
`
const record = `local function readRecord(key)
local value = call('GET', key)
if not value then return nil, 0 end
if sub(value, 1, 2) ~= '1r' then return redis.error_reply('HOLDFAST_FORMAT the record has an unknown format') end
local version = tonumber(sub(value, 3, 18))
if #value == 18 then return nil, version end
local expires = tonumber(sub(value, 19, 31))
if expires > 0 and expires <= now then return nil, version end
return { version = version, expires = expires, units = tonumber(sub(value, 32, 41)), text = sub(value, 42) },
version
end
local function writeRecord(key, record)
local units = record.units and format('%010.0f', record.units) or '----------'
local value = format('1r%016.0f%013.0f', record.version, record.expires) .. units .. record.text
if record.expires == 0 then
call('SET', key, value)
else
call('SET', key, value, 'PX', format('%.0f', record.expires - now + KEEP))
end
end
local function show(record)
return record and { record.version, record.expires, record.text } or false
end
`
const stamp = `local stampText = time[1] .. sub('00000' .. time[2], -6)
local nowText = sub(stampText, 1, 13)
`
const state = `local TAIL = '^([^%z]*)%z([^%z]*)%z([^%z]*)%z([^%z]*)%z([^%z]*)%z([^%z]*)%z()'
local DAY, NO_DELAY = '0086400000', '\\0' .. '0\\0'
local MORE = '([^%z]*)%z([^%z]*)%z([^%z]*)%z([^%z]*)%z([^%z]*)%z([^%z]*)%z([^%z]*)%z'
local function isOf(id, text, from)
return sub(text, from, from + #id) == id .. '\\0'
end
local function load(value)
if not value then return { seq = 0, closed = 0, holds = {}, line = {} } end
local form = sub(value, 1, 2)
if form == '1f' then return { seq = tonumber(sub(value, 3)), closed = 0, holds = {}, line = {} } end
if form == '1x' then
local seq = tonumber(sub(value, 3, 18))
local member = { sub(value, 32, 44) + sub(value, 45, 54), tonumber(sub(value, 19, 31)), sub(value, 55) }
return { seq = seq, closed = 0, holds = { { false, 'e', 0, 1, seq, { member } } }, line = {} }
end
if form == '1q' then
local seq, at = tonumber(sub(value, 3, 18)), 78 + sub(value, 73, 77)
local member = { sub(value, 32, 44) + sub(value, 45, 54), tonumber(sub(value, 19, 31)), sub(value, 78, at - 1) }
local line = {}
while at <= #value do
local next = at + 31 + sub(value, at, at + 4)
line[#line + 1] = { tonumber(sub(value, at + 5, at + 17)), tonumber(sub(value, at + 18, at + 30)), sub(value, at + 31, next - 1) }
at = next
end
return { seq = seq, closed = 0, holds = { { false, 'e', 0, 1, seq, { member } } }, line = line }
end
if form ~= '1s' then return nil end
local all = cmsgpack.unpack(sub(value, 3))
return { seq = all[1], closed = all[2], holds = all[3], line = all[4] }
end
local function isShort(argument)
local digits = byte(argument, -1) - 48
return byte(argument) == 120 and #argument < 1e5 and sub(argument, 2, 11) <= DAY
and sub(argument, -4 - digits, -2 - digits) == NO_DELAY
end
local function writeLine(line)
local texts, soonest = {}, math.huge
if #line > 99999 then return nil end
for place, waiter in ipairs(line) do
if not isShort(waiter[3]) then return nil end
soonest = math.min(soonest, waiter[1])
texts[place] = format('%05d%013.0f%013.0f', #waiter[3], waiter[1], waiter[2]) .. waiter[3]
end
return soonest, table.concat(texts)
end
local function write(state)
local seq, holds, line = state.seq, state.holds, state.line
if state.closed <= now then
if #holds == 0 and #line == 0 then return format('1f%016.0f', seq) end
local hold = holds[1]
if #holds == 1 and hold[2] == 'e' and not hold[1] and #hold[6] == 1 and hold[5] == seq then
local member = hold[6][1]
local tail, left = member[3], member[1] - now
local head = format('%016.0f%013.0f', seq, member[2]) .. nowText .. format('%010.0f', left)
if #line == 0 then return '1x' .. head .. tail end
if left <= KEEP and #tail < 1e5 and sub(tail, -3) == NO_DELAY then
local soonest, texts = writeLine(line)
if soonest then return '1q' .. head .. format('%05d%013.0f%05d', #line, soonest, #tail) .. tail .. texts end
end
end
end
return '1s' .. cmsgpack.pack({ seq, state.closed, holds, line })
end
local function lifeOf(state)
local until_ = math.max(now + KEEP, state.closed)
for _, hold in ipairs(state.holds) do
for _, member in ipairs(hold[6]) do
local _, _, _, _, _, delay = string.match(member[3], TAIL)
until_ = math.max(until_, member[1] + delay)
end
end
for _, waiter in ipairs(state.line) do until_ = math.max(until_, waiter[1]) end
return format('%.0f', until_ - now)
end
local function save(key, state)
call('SET', key, write(state), 'PX', lifeOf(state))
end
local function claimOf(argument)
local id, inbox, label, actor, meta, delay, after = string.match(argument, TAIL, 12)
local claim = { id = id, inbox = inbox, ttl = tonumber(sub(argument, 2, 11)), tail = sub(argument, 12, after - 1),
kind = 'e', limit = 0, weight = 1, queue = sub(argument, 1, 1) == 'x', argument = argument }
if byte(argument) == 102 then
local queue, kind, limit, weight, owner, group, replaces = string.match(argument, MORE, after)
claim.queue, claim.kind, claim.limit, claim.weight = queue == '1', kind, tonumber(limit), tonumber(weight)
if owner ~= '' then claim.owner = owner end
if group ~= '' then claim.group = group end
if replaces ~= '' then claim.replaces = replaces end
end
return claim
end
`
const step = `local letters = {}
local keyName = nil
local function post(inbox, text)
letters[#letters + 1] = { inbox, text }
end
local function deliver()
for _, letter in ipairs(letters) do call('PUBLISH', 'holdfast:inbox:' .. letter[1], letter[2]) end
letters = {}
end
local function tell(member, kind, detail)
local id, inbox = string.match(member[3], TAIL)
post(inbox, kind .. '\\0' .. id .. '\\0' .. detail .. '\\0' .. keyName)
end
local function fits(claim, holds)
if claim.kind == 'e' then return #holds == 0 end
local used = 0
for _, hold in ipairs(holds) do
if claim.kind == 's' and hold[2] ~= 's' then return false end
if hold[2] == 'p' then used = used + hold[4] end
end
return claim.kind == 's' or used + claim.weight <= claim.limit
end
local function covers(hold, claim)
if hold[2] == 'p' then return claim.kind == 'p' and claim.weight <= hold[4] end
return hold[2] == 'e' or claim.kind == 's'
end
local function ownHold(state, claim)
if not claim.owner then return nil end
for _, hold in ipairs(state.holds) do
if hold[1] == claim.owner then return hold end
end
end
local function admits(state, claim)
if state.closed > now then return false end
local own = ownHold(state, claim)
if own then return covers(own, claim) end
return fits(claim, state.holds)
end
local function joins(state, claim)
local own = ownHold(state, claim)
return own ~= nil and covers(own, claim)
end
local function takeSeq(state)
state.seq = math.max(state.seq + 1, stamp)
state.changed = true
return state.seq
end
local function grant(state, claim, life)
local member = { now + life, now, claim.tail }
state.changed = true
local own = ownHold(state, claim)
if own then
table.insert(own[6], member)
return own
end
local hold = { claim.owner or false, claim.kind, claim.limit, claim.weight, takeSeq(state), { member } }
table.insert(state.holds, hold)
return hold
end
local function spareOf(hold)
return hold[1] and 0 or 255
end
local function flag(contended)
return contended and 1 or 0
end
local function hasOwner(state)
for _, hold in ipairs(state.holds) do
if hold[1] then return true end
end
return false
end
local function nextIn(state)
local line = state.line
if #line == 0 then return nil end
local head = claimOf(line[1][3])
if admits(state, head) then return 1, head end
if not hasOwner(state) then return nil end
for place = 2, #line do
local claim = claimOf(line[place][3])
if joins(state, claim) then return place, claim end
end
end
local function promote(state)
if #state.line == 0 or state.closed > now then return end
while true do
local place, claim = nextIn(state)
if not place then return end
table.remove(state.line, place)
local life = math.min(claim.ttl, OFFER)
local hold = grant(state, claim, life)
post(claim.inbox, format('granted\\0%s\\0%.0f\\0%d\\0%d\\0%.0f\\0%.0f\\0', claim.id, hold[5], spareOf(hold),
flag(#state.line > 0), now, life) .. keyName)
end
end
local function expire(state)
local alive = {}
for _, hold in ipairs(state.holds) do
local members = {}
for _, member in ipairs(hold[6]) do
if member[1] > now then
members[#members + 1] = member
else
state.changed = true
tell(member, 'lost', 'expired')
local _, _, _, _, _, delay = string.match(member[3], TAIL)
if tonumber(delay) > 0 then state.closed = math.max(state.closed, member[1] + delay) end
end
end
hold[6] = members
if #members > 0 then alive[#alive + 1] = hold end
end
state.holds = alive
end
local function sweep(state)
local line = {}
for _, waiter in ipairs(state.line) do
if waiter[1] > now then line[#line + 1] = waiter end
end
if #line < #state.line then state.changed = true end
state.line = line
expire(state)
promote(state)
end
local function memberOf(state, id)
for at, hold in ipairs(state.holds) do
for index, member in ipairs(hold[6]) do
if isOf(id, member[3], 1) then return hold, index, at end
end
end
end
local function placeOf(state, id)
for place, waiter in ipairs(state.line) do
if isOf(id, waiter[3], 12) then return place end
end
end
local function leave(state, id)
local place = placeOf(state, id)
if not place then return false end
table.remove(state.line, place)
state.changed = true
return true
end
`
const stock = `local call = redis.call
local STOCK, UNITS, ENDS = KEYS[1], KEYS[2], KEYS[3]
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
for _, id in ipairs(call('ZRANGEBYSCORE', ENDS, '-inf', whole(nowMs()))) do
local _, buyer, text = readOrder(id)
local goods = cjson.decode(text)
putBack(stock, goods, buyer)
stock.held = stock.held - amount(goods)
call('HDEL', STOCK, 'o:' .. id)
call('ZREM', ENDS, id)
end
end
local function load()
local fields = call('HMGET', STOCK, 'head', 'left', 'held')
local head = fields[1] or ''
if string.byte(head) ~= 50 then
if call('EXISTS', STOCK) == 0 then return nil end
return { err = 'HOLDFAST_FORMAT the stock has an unknown format' }
end
local named = string.byte(head, 2) == 110
local stock = { named = named, left = named and call('LLEN', UNITS) or tonumber(fields[2]), held = tonumber(fields[3]),
ends = string.sub(head, 3), was = fields }
if stock.held > 0 then returnExpired(stock) end
return stock
end
local function save(stock)
local left, held = not stock.named and stock.left or 0, stock.held
if left ~= tonumber(stock.was[2]) or held ~= tonumber(stock.was[3]) then call('HSET', STOCK, 'left', left, 'held', held) end
end
`
const time = `local call, byte, sub, format = redis.call, string.byte, string.sub, string.format
local time = call('TIME')
`
const values = `local values, written = nil, nil
if #KEYS > 1 then values, written = call('MGET', unpack(KEYS)), {} end
`

export const SCRIPTS = {
  attempt: {
    sha: 'd49e7c1c2584d25258a99de9c11ef46079ab8c58',
    source: `${time}${stamp}local alone, seen = #KEYS == 1, nil
if alone and byte(ARGV[1]) ~= 102 then
local key, argument = KEYS[1], ARGV[1]
seen = call('GET', key)
if not seen or (sub(seen, 1, 2) == '1f' and sub(seen, 3) < stampText) then
local digits = byte(argument, -1) - 48
local text = '1x' .. stampText .. nowText .. nowText .. sub(argument, 2, -2 - digits)
if seen and sub(seen, 3, 8) == sub(nowText, 1, 6) and sub(argument, 2, 11) <= '0003600000' then
call('SET', key, text, 'KEEPTTL')
else
call('SET', key, text, 'PX', sub(argument, -1 - digits, -2))
end
return tonumber(stampText)
end
end
${clock}local FREE, FULL = 102, 102
local find, DAY, NO_DELAY = string.find, '0086400000', '\\0' .. '0\\0'
local answers, claims = nil, nil
local freeText = '1f' .. stampText
local alike, opening, before, after, ending, life, short = false, nil, nil, '', nil, nil, nil
local values, written = nil, nil
local index = 1
while index <= #KEYS do
local key, argument = KEYS[index], ARGV[index]
local letter, who, value = 0, argument, nil
if not alike then
letter = byte(argument)
if letter ~= FULL then
local digits = byte(argument, -1) - 48
local ttl = sub(argument, 2, 11)
short = ttl <= HOUR
before = '1x' .. stampText .. nowText .. nowText .. ttl
life = sub(argument, -1 - digits, -2)
who = sub(argument, 12, -2 - digits)
if letter < 97 then
alike = true
local stop = string.find(who, '\\0', 1, true)
opening, ending = (letter == 88 and 'x' or 'y') .. sub(argument, 2, 11), sub(argument, -1 - digits)
who, after = sub(who, 1, stop - 1), sub(who, stop)
values, written = call('MGET', unpack(KEYS)), {}
while index <= #KEYS do
key, value = KEYS[index], values[index]
if written[key] or (value and not (byte(value, 2) == FREE and value < freeText)) then break end
written[key] = true
if index > 1 then who = ARGV[index] end
if short and value and sub(value, 3, 8) == period then
call('SET', key, before .. who .. after, 'KEEPTTL')
else
call('SET', key, before .. who .. after, 'PX', life)
end
index = index + 1
end
if index > #KEYS then break end
if index > 1 then who = ARGV[index] end
argument = who
end
end
end
if alike and not written[key] then
value = values[index]
written[key] = true
elseif letter ~= FULL then
if alone then value = seen else value = call('GET', key) end
end
if letter ~= FULL and (not value or (byte(value, 2) == FREE and value < freeText)) then
if short and value and sub(value, 3, 8) == period then
call('SET', key, before .. who .. after, 'KEEPTTL')
else
call('SET', key, before .. who .. after, 'PX', life)
end
if answers then answers[index] = stamp end
else
if not answers then
answers = {}
for earlier = 1, index - 1 do answers[earlier] = stamp end
end
local whole, form, answer = nil, nil, nil
if letter ~= FULL and byte(value) == 49 then
form = byte(value, 2)
whole = alike and opening .. who .. after .. ending or argument
end
if (form == 113 or (form == 120 and sub(value, -3) == NO_DELAY and sub(value, 45, 54) <= DAY and #value < 1e5))
and #whole < 1e5 and sub(whole, 2, 11) <= DAY then
local digits, ends = byte(whole, -1) - 48, sub(value, 32, 44) + sub(value, 45, 54)
local first = form == 113 and 78 or 55
if ends > now and sub(whole, -4 - digits, -2 - digits) == NO_DELAY
and (form == 120 or (sub(value, 60, 72) > nowText and sub(value, 55, 59) < '99999'))
and not find(value, sub(whole, 12, find(whole, '\\0', 12, true)), first, true) then
local stop = find(value, '\\0', first, true)
local label = find(value, '\\0', stop + 1, true)
local place, expires = 0, format('%013.0f', now + sub(whole, 2, 11))
local soonest, tail = expires, nil
if form == 113 then
local at = 78 + sub(value, 73, 77)
while at <= #value do
ends = math.min(ends, sub(value, at + 5, at + 17))
at = at + 31 + sub(value, at, at + 4)
end
place, tail = sub(value, 55, 59) + 0, sub(value, 73)
if sub(value, 60, 72) < soonest then soonest = sub(value, 60, 72) end
else
tail = format('%05d', #value - 54) .. sub(value, 55)
end
if byte(whole) == 120 then
place = place + 1
call('SET', key, '1q' .. sub(value, 3, 54) .. format('%05d', place) .. soonest .. tail .. format('%05d', #whole)
.. expires .. nowText .. whole, 'PX', sub(whole, -1 - digits, -2))
if place == 1 then
local letter = { sub(value, stop + 1, label - 1), 'contended\\0' .. sub(value, first, stop) .. '\\0' .. key }
call('PUBLISH', 'holdfast:inbox:' .. letter[1], letter[2])
end
else
place = 0
end
answer = { 'blocked', place, ends - now, now, sub(value, label + 1, find(value, '\\0', label + 1, true) - 1),
now - sub(value, 19, 31) }
end
end
if not answer and not claims then
${state}${step}${claim}local function claimOne(key, value, argument)
local state = load(value)
if not state then return { 'format' } end
keyName = key
sweep(state)
local answer = applyClaim(state, claimOf(argument))
if state.changed then save(key, state) end
deliver()
return answer
end
local function claimGroup(first, last)
local states, order = {}, {}
for index = first, last do
local key = KEYS[index]
local state = states[key]
if not state then
state = load(call('GET', key))
states[key] = state
order[#order + 1] = key
end
local answer = { 'format' }
if state then
keyName = key
sweep(state)
answer = applyClaim(state, claimOf(ARGV[index]))
end
if type(answer) == 'table' and answer[1] ~= 'granted' then
for other = first, last do answers[other] = { 'blocked', 0, -1, now } end
answers[index] = answer
letters = {}
return
end
answers[index] = answer
end
for _, key in ipairs(order) do save(key, states[key]) end
deliver()
end
claims = { one = claimOne, group = claimGroup, of = claimOf }
end
local group = letter == FULL and claims.of(argument).group
if answer then
answers[index] = answer
elseif group then
local last = index
while last < #KEYS and byte(ARGV[last + 1]) == FULL and claims.of(ARGV[last + 1]).group == group do
last = last + 1
end
claims.group(index, last)
index = last
else
if alike then argument = opening .. who .. after .. ending end
answers[index] = claims.one(key, value or call('GET', key), argument)
end
end
index = index + 1
end
return answers or stamp
`,
  },
  evict: {
    sha: '259c206b3c279ef203a3c2a60d825b29b7dcf735',
    source: `${time}${stamp}${clock}${state}${step}local key, ask, seq = KEYS[1], ARGV[1] == 'ask', tonumber(ARGV[2])
local state = load(call('GET', key))
if not state then return -1 end
keyName = key
sweep(state)
local labels, others = {}, {}
for _, hold in ipairs(state.holds) do
if seq and hold[5] ~= seq then
others[#others + 1] = hold
else
for _, member in ipairs(hold[6]) do
local _, _, label = string.match(member[3], TAIL)
labels[#labels + 1] = label
tell(member, ask and 'revoked' or 'lost', ask and '' or 'evicted')
end
end
end
if not ask and #labels > 0 then
state.holds = others
takeSeq(state)
promote(state)
end
if state.changed then save(key, state) end
deliver()
return labels
`,
  },
  foreignLook: {
    sha: 'dd376fe0cda3fa4ad41253c2377cd49255df4d7f',
    source: `${time}${stamp}${clock}local answers = {}
for index = 1, #KEYS do
local key = KEYS[index]
local kind = call('TYPE', key).ok
local idle = redis.pcall('OBJECT', 'IDLETIME', key)
local proof = ''
if ARGV[1] == '1' and kind == 'string' then proof = redis.sha1hex(call('GET', key)) end
answers[index] = { call('PTTL', key) == -1 and 1 or 0, kind, type(idle) == 'number' and idle or -1, proof }
end
return answers
`,
  },
  foreignReap: {
    sha: '6093a373f62c2c8af5d02771bb7b402ddbe020e2',
    source: `${time}${stamp}${clock}local key, least, proof = KEYS[1], tonumber(ARGV[1]), ARGV[2]
if call('PTTL', key) ~= -1 then return 0 end
if least > 0 then
local idle = redis.pcall('OBJECT', 'IDLETIME', key)
if type(idle) ~= 'number' or idle < least then return 0 end
end
if proof ~= '' and (call('TYPE', key).ok ~= 'string' or redis.sha1hex(call('GET', key)) ~= proof) then return 0 end
return call('UNLINK', key)
`,
  },
  plainAttempt: {
    sha: '4f33596481f9731915ecdd413a34220b8b9c1d36',
    source: `${time}${stamp}${clock}${plain}local LOOK = 100
local function grant(key, side, state, claim)
leave(state, claim.id)
call('SET', key, claim.id, 'PX', claim.ttlText)
takeSeq(state)
state.id, state.since, state.inbox, state.tail = claim.id, now, claim.inbox, claim.tail
saveSide(side, state, claim.ttl)
return #state.waiters > 0 and -state.seq or state.seq
end
local function again(key, side, state, claim)
if state.id ~= claim.id then return grant(key, side, state, claim) end
if claim.ttl > call('PTTL', key) then
call('PEXPIRE', key, claim.ttlText)
call('PEXPIRE', side, format('%.0f', KEEP + claim.ttl))
end
return #state.waiters > 0 and -state.seq or state.seq
end
local function wait(key, side, state, claim)
local waiters, known = {}, false
for _, waiter in ipairs(state.waiters) do
if waiter[2] == claim.id and waiter[1] > now + claim.ttl / 2 then known = true end
if waiter[1] > now and (waiter[2] ~= claim.id or known) then waiters[#waiters + 1] = waiter end
end
if known then return end
if #waiters == 0 then tell(state, key, 'contended', '') end
waiters[#waiters + 1] = { now + claim.ttl, claim.id, claim.inbox }
state.waiters = waiters
saveSide(side, state, math.max(claim.ttl, call('PTTL', key)))
end
local function block(key, side, state, claim, holder)
if claim.queue then wait(key, side, state, claim) end
local life = call('PTTL', key)
if state.id ~= holder then return { 'blocked', life < 0 and LOOK or math.min(life, LOOK), now } end
return { 'blocked', life, now, string.match(state.tail, '^[^%z]*'), now - state.since }
end
local function claimOne(key, side, claim)
local holder, state = holderOf(key), loadSide(side)
if holder == nil then return { 'strange' } end
if not state then return { 'format' } end
if holder == claim.id then return again(key, side, state, claim) end
if claim.replaces ~= '' then
if holder ~= claim.replaces then return { 'absent' } end
tell(state, key, 'lost', 'adopted')
return grant(key, side, state, claim)
end
if not holder then return grant(key, side, state, claim) end
return block(key, side, state, claim, holder)
end
local answers = {}
for index = 1, #ARGV do
local ttl, id, inbox, queue, replaces, tail =
string.match(ARGV[index], '^(%d+)%z([^%z]*)%z([^%z]*)%z([^%z]*)%z([^%z]*)%z(.*)$')
local claim = { ttlText = ttl, ttl = tonumber(ttl), id = id, inbox = inbox, queue = queue == '1', replaces = replaces,
tail = tail }
answers[index] = claimOne(KEYS[2 * index - 1], KEYS[2 * index], claim)
end
deliver()
return answers
`,
  },
  plainEvict: {
    sha: '75d607c40360b772c4108ad31c5ffc44568f09c8',
    source: `${time}${stamp}${clock}${plain}local key, side, ask, seq = KEYS[1], KEYS[2], ARGV[1] == 'ask', tonumber(ARGV[2])
local holder, state = holderOf(key), loadSide(side)
if not state then return -1 end
if not holder then return {} end
local ours = state.id == holder
if seq and not (ours and state.seq == seq) then return {} end
if not ours and ask then return { '' } end
local label = ours and string.match(state.tail, '^[^%z]*') or ''
if ours then tell(state, key, ask and 'revoked' or 'lost', ask and '' or 'evicted') end
if not ask then
call('DEL', key)
takeSeq(state)
state.id, state.tail, state.inbox = '', '', ''
wake(state, key)
saveSide(side, state, 0)
end
deliver()
return { label }
`,
  },
  plainRead: {
    sha: 'c7d2be0760fdeb24ad56298ecde2482eb029f439',
    source: `${time}${stamp}${clock}${plain}local answers = {}
for index = 1, #KEYS / 2 do
local key, side = KEYS[2 * index - 1], KEYS[2 * index]
local holder, state = holderOf(key), loadSide(side)
if not state then
answers[index] = -1
elseif not holder then
answers[index] = { state.seq }
elseif state.id == holder then
answers[index] = { state.seq, call('PTTL', key), now - state.since, state.tail }
else
answers[index] = { state.seq, call('PTTL', key) }
end
end
return answers
`,
  },
  plainRelease: {
    sha: '066c72c581b3aa7de43aa95e1a2604769ceba253',
    source: `${time}${stamp}${clock}${plain}local function release(key, side, id)
local holder, state = holderOf(key), loadSide(side)
if not state then return -1 end
if holder ~= id then
if leave(state, id) then saveSide(side, state, math.max(0, call('PTTL', side) - KEEP)) end
return 0
end
call('DEL', key)
state.id, state.tail, state.inbox = '', '', ''
wake(state, key)
saveSide(side, state, 0)
return 1
end
local answers = {}
for index = 1, #ARGV do
answers[index] = release(KEYS[2 * index - 1], KEYS[2 * index], ARGV[index])
end
deliver()
return answers
`,
  },
  plainRenew: {
    sha: '5abda859cb1cc4291ab3c691c15c1a4c04725910',
    source: `${time}${stamp}${clock}${plain}local function renew(key, side, ttl, id)
if holderOf(key) ~= id then return 0 end
local state = loadSide(side)
if not state then return -1 end
if tonumber(ttl) > call('PTTL', key) then
call('PEXPIRE', key, ttl)
call('PEXPIRE', side, format('%.0f', KEEP + ttl))
end
return #state.waiters > 0 and 2 or 1
end
local answers = {}
for index = 1, #ARGV do
local ttl, id = string.match(ARGV[index], '^(%d+)%z(.*)$')
answers[index] = renew(KEYS[2 * index - 1], KEYS[2 * index], ttl, id)
end
return answers
`,
  },
  read: {
    sha: '99e2bb632458ba2852d6fe77e620c1e3614494f6',
    source: `${time}${stamp}${clock}${state}local answers = { stamp }
for index = 1, #KEYS do
local state = load(call('GET', KEYS[index]))
answers[index + 1] = state and { state.seq, state.closed, state.holds, state.line } or -1
end
return answers
`,
  },
  recordRead: {
    sha: 'dd5f57bf7ef965773a9cb79459d39ed704376d85',
    source: `${time}${stamp}${clock}${record}local record = readRecord(KEYS[1])
if record and record.err then return record end
return show(record)
`,
  },
  recordRemove: {
    sha: 'c38a99818fe81e26a274541bff2d83fd119c6bdb',
    source: `${time}${stamp}${clock}${record}${state}${step}${condition}local record, last = readRecord(KEYS[1])
if record and record.err then return record end
if not record or not allows(record, ARGV[1], ARGV[2]) then return 0 end
call('SET', KEYS[1], format('1r%016.0f', last), 'PX', format('%.0f', KEEP))
return 1
`,
  },
  recordTake: {
    sha: 'b7083f03bf396314bb565369da47ef69c98b03de',
    source: `${time}${stamp}${clock}${record}local UNFIT = 'HOLDFAST_STOCK only a whole number or a list of texts can be taken from'
local record = readRecord(KEYS[1])
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
writeRecord(KEYS[1],
{ version = version, expires = record.expires, units = isList and left or nil, text = text })
return { left, version, taken }
`,
  },
  recordWrite: {
    sha: '049a724751f0b9b6f9ef1d338cd26b42d7fd6eb2',
    source: `${time}${stamp}${clock}${record}${state}${step}${condition}local record, last = readRecord(KEYS[1])
if record and record.err then return record end
if not allows(record, ARGV[3], ARGV[4]) then return show(record) end
local version = math.max(last + 1, stamp)
local ttl = tonumber(ARGV[2])
writeRecord(KEYS[1], { version = version, expires = ttl and now + ttl or 0, text = ARGV[1] })
return version
`,
  },
  release: {
    sha: '2ca6f4f1ca6c643d670e083faf33252689f97a82',
    source: `${time}local alone, seen = #KEYS == 1, nil
if alone then
local key, id = KEYS[1], ARGV[1]
seen = call('GET', key)
if seen and sub(seen, 1, 2) == '1x' and sub(seen, 55, 54 + #id) == id and byte(seen, 55 + #id) == 0
and sub(seen, 32, 44) + sub(seen, 45, 54) > time[1] * 1000 + time[2] / 1000 then
call('SET', key, '1f' .. sub(seen, 3, 18), 'KEEPTTL')
return 1
end
end
${stamp}${clock}local answers, slow = nil, nil
local find = string.find
${values}local head, free = nil, nil
for index = 1, #KEYS do
local key, id = KEYS[index], ARGV[index]
local value = nil
if alone then value = seen elseif written[key] then value = call('GET', key) else value = values[index] end
if written then written[key] = true end
local version, form, start = nil, nil, nil
if value then
start = sub(value, 1, 54)
if start ~= head then
version, form = byte(value, 1, 2)
if version == 49 and form == 120 and sub(value, 32, 44) + sub(value, 45, 54) > now then
head, free = start, '1f' .. sub(value, 3, 18)
end
end
end
if start and start == head and sub(value, 55, 54 + #id) == id and byte(value, 55 + #id) == 0 then
call('SET', key, free, 'KEEPTTL')
if answers then answers[index] = 1 end
elseif version == 49 and form == 113 and sub(value, 78, 77 + #id) == id and byte(value, 78 + #id) == 0
and sub(value, 32, 44) + sub(value, 45, 54) > now and sub(value, 60, 72) > nowText then
local at, left = 78 + sub(value, 73, 77), sub(value, 55, 59) - 1
local claim = sub(value, at + 31, at + 30 + sub(value, at, at + 4))
local digits = byte(claim, -1) - 48
local tail, life, seq = sub(claim, 12, -2 - digits), sub(claim, 2, 11), stampText
if life + 0 > OFFER then life = format('%010.0f', OFFER) end
if sub(value, 3, 18) >= seq then seq = format('%016.0f', sub(value, 3, 18) + 1) end
local text = seq .. nowText .. nowText .. life
if left == 0 then
text = '1x' .. text .. tail
else
text = '1q' .. text .. format('%05d', left) .. sub(value, 60, 72) .. format('%05d', #tail) .. tail .. sub(value, at + 31 + #claim)
end
call('SET', key, text, 'PX', sub(claim, -1 - digits, -2))
local stop = find(tail, '\\0', 1, true)
local inbox = sub(tail, stop + 1, find(tail, '\\0', stop + 1, true) - 1)
local letter = { inbox, 'granted\\0' .. sub(tail, 1, stop) .. format('%.0f', seq) .. '\\0' .. '255\\0' .. (left > 0 and '1' or '0')
.. '\\0' .. nowText .. '\\0' .. format('%.0f', life) .. '\\0' .. key }
call('PUBLISH', 'holdfast:inbox:' .. letter[1], letter[2])
if answers then answers[index] = 1 end
else
if not answers then
answers = {}
for earlier = 1, index - 1 do answers[earlier] = 1 end
end
if not slow then
${state}${step}slow = function(key, value, id)
local state = load(value)
if not state then return -1 end
keyName = key
sweep(state)
local hold, index, at = memberOf(state, id)
local found = true
if hold then
table.remove(hold[6], index)
if #hold[6] == 0 then table.remove(state.holds, at) end
state.changed = true
else
found = leave(state, id)
end
if found then promote(state) end
if state.changed then save(key, state) end
deliver()
return found and 1 or 0
end
end
answers[index] = slow(key, value, id)
end
end
return answers or 1
`,
  },
  renew: {
    sha: 'ba22816746c5e4c11e403545bf3b81102f61d946',
    source: `${time}${stamp}${clock}local answers, slow = nil, nil
${values}local lastTtl, expires, life, span = nil, nil, nil, nil
for index = 1, #KEYS do
local key, argument = KEYS[index], ARGV[index]
local ttl, id = sub(argument, 1, 10), sub(argument, 11)
local value = nil
if not values or written[key] then value = call('GET', key) else value = values[index] end
if written then written[key] = true end
local version, form = nil, nil
if value then version, form = byte(value, 1, 2) end
local until_ = 0
if version == 49 and form == 120 and sub(value, 55, 54 + #id) == id and byte(value, 55 + #id) == 0 then
until_ = sub(value, 32, 44) + sub(value, 45, 54)
end
if until_ > now then
if ttl ~= lastTtl then
lastTtl, expires, life, span = ttl, now + ttl, format('%.0f', ttl + KEEP), nowText .. ttl
end
if expires > until_ then
if ttl <= HOUR and sub(value, 32, 37) == period then call('SETRANGE', key, '31', span)
else call('SET', key, sub(value, 1, 31) .. span .. sub(value, 55), 'PX', life) end
end
if answers then answers[index] = 1 end
else
if not answers then
answers = {}
for earlier = 1, index - 1 do answers[earlier] = 1 end
end
if not slow then
${state}${step}slow = function(key, value, id, ttl)
local state = load(value)
if not state then return -1 end
keyName = key
sweep(state)
local hold, index = memberOf(state, id)
local kept = hold and hold[6][index]
if not kept then
local place = placeOf(state, id)
kept = place and state.line[place]
end
if kept and now + ttl > kept[1] then
kept[1] = now + ttl
state.changed = true
end
if state.changed then save(key, state) end
deliver()
if not kept then return 0 end
return #state.line > 0 and 2 or 1
end
end
answers[index] = slow(key, value, id, tonumber(ttl))
end
end
return answers or 1
`,
  },
  stockAdd: {
    sha: 'c0434fb96b49d8ac7f938b5d1df614c75d7ea7f8',
    source: `${stock}local stock = load()
if not stock or stock.err then return stock end
local goods = cjson.decode(ARGV[2])
if (type(goods) == 'table') ~= stock.named then return 'unfit' end
if call('HSETNX', STOCK, 'o:' .. ARGV[1], orderText('a', '', 0)) == 1 then
putBack(stock, goods, '')
call('HINCRBY', STOCK, 'total', amount(goods))
end
save(stock)
return 'added'
`,
  },
  stockLook: {
    sha: '0650541e7cf63bf22393a665a109e87bcad232cb',
    source: `${stock}local stock = load()
if not stock or stock.err then return stock end
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
    sha: 'a647935b9c643d7a0cd8be6d0648b9127603eae0',
    source: `${stock}local stock = load()
if stock and stock.err then return stock end
if stock then
save(stock)
return { 0, call('HGET', STOCK, 'opening') }
end
local goods = cjson.decode(ARGV[1])
local named = type(goods) == 'table'
local ends = ARGV[2] == '' and '0' or whole(nowMs() + tonumber(ARGV[2]))
call('HSET', STOCK, 'head', (named and '2n' or '2c') .. ends, 'left', named and 0 or goods, 'held', 0, 'total', amount(goods),
'opening', ARGV[1])
if named then
for _, unit in ipairs(goods) do call('RPUSH', UNITS, unit) end
keepEnd(ends, UNITS)
end
keepEnd(ends, STOCK)
return { 1, ARGV[1] }
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
    sha: '88546887ecec5a1548615a45e5409fb7b8422b25',
    source: `${stock}local id, deal = ARGV[1], ARGV[2]
local stock = load()
if not stock or stock.err then return stock end
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
call('HSET', STOCK, 'o:' .. id, back and orderText('r', buyer, 0) or orderText('s', buyer, text))
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
    sha: '13672ac542084417c3bf5026fe6875d4dd29e2d7',
    source: `${stock}local stock = load()
if not stock or stock.err then return stock end
local function answerAgain(order)
local state, _, goods = readOrder(order)
if state then return state == 'r' and 'returned' or tonumber(goods) or goods end
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
return answerAgain(order) or perBuyer and has + count > perBuyer and 'limit ' .. has or 'short ' .. stock.left
end
local goods, state = pick(count), buyer == '' and 'm' or hold and 'h' or 's'
if call('HSETNX', STOCK, 'o:' .. order, orderText(state, buyer, goods)) == 0 then
unpick(goods)
return answerAgain(order)
end
local has = buyer == '' and count or call('HINCRBY', STOCK, 'b:' .. buyer, count)
if perBuyer and has > perBuyer then
unpick(goods)
call('HDEL', STOCK, 'o:' .. order)
if buyer ~= '' and call('HINCRBY', STOCK, 'b:' .. buyer, -count) == 0 then call('HDEL', STOCK, 'b:' .. buyer) end
return 'limit ' .. has - count
end
stock.left = stock.left - count
if state ~= 's' then
if state == 'h' then stock.held = stock.held + count end
call('ZADD', ENDS, state == 'h' and whole(nowMs() + hold) or '+inf', order)
keepEnd(stock.ends, ENDS)
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
    sha: '6b3e922216fc3e937ffe953e8a1fe8168a8e99fd',
    source: `${time}${stamp}${clock}if call('EXISTS', KEYS[1]) == 1 then return 0 end
return call('UNLINK', KEYS[2], KEYS[3])
`,
  },
  tidy: {
    sha: '69f3d99da6a07f3e61d76bdefc68b03c6113b325',
    source: `${time}${stamp}${clock}${state}${step}local key = KEYS[1]
local value = call('GET', key)
local state = load(value)
if not state then return -1 end
if not value then return 0 end
keyName = key
sweep(state)
if not state.changed and call('PTTL', key) ~= -1 then return 0 end
save(key, state)
deliver()
return 1
`,
  },
} as const
