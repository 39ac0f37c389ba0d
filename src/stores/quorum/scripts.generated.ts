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
const answer = `local function granted(state, seq)
return state.waiting > 0 and -seq or seq
end
local function refusalOf(state, claim, own)
local mode = (state.used > 0 or state.waiting > 0) and state.mode or nil
local refusal = mismatch(mode, state.limit, claim) or upgrade(state.mode, own, claim)
if refusal and leave(state, claim.id) then callQueue(state) end
return refusal
end
local function seqOf(state, voter)
return tonumber(voter.owner and record(state, 'owner', voter.owner).seq or voter.seq)
end
local function setSeq(state, id, voter, seq)
if voter.owner then
local own = record(state, 'owner', voter.owner)
own.seq = countText(seq)
put(state, 'owner', voter.owner, cjson.encode(own))
else
voter.seq = countText(seq)
put(state, 'holder', id, cjson.encode(voter))
end
end
local function prolong(state, id, voter, ttl, mode)
call('ZADD', part(state, 'holders'), 'XX', 'GT', countText(now + ttl), id)
liveFor(state, 'holders', ttl + (voter.delay or 0))
if state.mode ~= 'exclusive' or mode ~= 'shared' then return end
if voter.owner and record(state, 'owner', voter.owner).members > 1 then return end
state.mode, state.used, voter.mode = 'shared', 1, 'shared'
put(state, 'holder', id, cjson.encode(voter))
callQueue(state)
end
local function isBefore(ticket, id, claim)
return ticket < claim.ticket or (ticket == claim.ticket and id < claim.id)
end
local function admits(state, claim)
if state.closed > now or state.used + claim.amount > claim.capacity then return false end
if state.waiting == 0 then return true end
local called = part(state, 'called')
if state.reserved > 0 and state.known['waiter:' .. claim.id] and call('ZSCORE', called, claim.id) then return true end
local heads = call('ZRANGE', part(state, 'queue'), 0, 1, 'WITHSCORES')
local at = heads[1] == claim.id and 3 or 1
if heads[at] and isBefore(tonumber(heads[at + 1]), heads[at], claim) then return false end
if state.reserved == 0 then return true end
local id, ticket = firstOf(called)
return not (id and isBefore(ticket, id, claim)) or state.used + state.reserved + claim.amount <= claim.capacity
end
local function positionOf(state, id)
local called = part(state, 'called')
local rank = state.reserved > 0 and call('ZRANK', called, id)
if rank then return rank + 1 end
rank = call('ZRANK', part(state, 'queue'), id)
if not rank then return 0 end
return (state.reserved > 0 and call('ZCARD', called) or 0) + rank + 1
end
local function retryAfter(state, own)
local at = state.closed > now and state.closed or math.huge
if state.used > 0 then
local _, ends = firstOf(part(state, 'holders'))
at = math.min(at, ends or math.huge)
end
if state.waiting > 0 then
local firsts = call('ZRANGE', part(state, 'deadlines'), 0, 1, 'WITHSCORES')
local other = firsts[firsts[1] == own and 4 or 2]
if other then at = math.min(at, tonumber(other)) end
end
return at == math.huge and -1 or math.max(0, at - now)
end
local function block(state, claim)
if claim.queue then enqueue(state, claim, claim.ticketText, claim.details) end
local position = claim.queue and positionOf(state, claim.id) or 0
local answer = { 'blocked', position, retryAfter(state, claim.id), now }
local id = state.used > 0 and firstOf(part(state, 'holders'))
local holder = id and record(state, 'holder', id)
if holder then
answer[5], answer[6] = holder.label, now - holder.since
end
return answer
end
local function grant(state, claim, own)
leave(state, claim.id)
local isNew, seq = state.used == 0, own and tonumber(own.seq)
if own then
own.members = own.members + 1
put(state, 'owner', claim.owner, cjson.encode(own))
else
seq = math.max(state.seq + 1, claim.ballot < 1e12 and stamp or claim.ballot)
state.seq, state.used, state.mode = seq, state.used + claim.amount, claim.mode
state.limit = claim.mode == 'permits' and claim.limit or 0
if claim.owner ~= '' then
put(state, 'owner', claim.owner, format('{"seq":"%.0f","weight":%.0f,"members":1}', seq, claim.weight))
end
end
put(state, 'holder', claim.id, format('{"seq":"%.0f","ballot":"%s","ticket":"%s","since":%.0f,', seq, claim.ballotText,
claim.ticketText, now) .. sub(claim.details, 2))
call('ZADD', part(state, 'holders'), countText(now + claim.ttl), claim.id)
liveFor(state, 'holders', claim.ttl + claim.delay, isNew)
if not own and claim.owner ~= '' then callJoiners(state, claim.owner, claim.weight) end
callQueue(state)
return granted(state, seq)
end
local function answerClaim(state, claim)
if claim.ballot > stamp + KEEP * 1000 then return { 'ahead' } end
local voter = record(state, 'holder', claim.id)
if voter then
local weight = voter.owner and record(state, 'owner', voter.owner).weight or voter.weight
if not covers(state.mode, weight, claim) then
return refused('upgrade', 'a shared lease cannot become an exclusive one: release it first')
end
if tonumber(voter.ballot) < claim.ballot then
voter.ballot = claim.ballotText
put(state, 'holder', claim.id, cjson.encode(voter))
end
prolong(state, claim.id, voter, claim.ttl, claim.mode)
return granted(state, seqOf(state, voter))
end
if claim.replaces then return refused('absent', 'the lease is no longer held') end
local own = ownHold(state, claim.owner)
local refusal = refusalOf(state, claim, own)
if refusal then return refusal end
if not own and not admits(state, claim) then return block(state, claim) end
return grant(state, claim, own)
end
local function keep(state, id, ttl)
if not record(state, 'waiter', id) then return 0 end
local position = positionOf(state, id)
if state.reserved == 0 or not call('ZSCORE', part(state, 'called'), id) then
call('ZADD', part(state, 'deadlines'), 'XX', 'GT', countText(now + ttl), id)
liveFor(state, 'queue', ttl)
liveFor(state, 'deadlines', ttl)
end
return { 'waiting', position, now }
end
local function answerJoin(state, claim)
local voter = record(state, 'holder', claim.id)
if voter then return granted(state, seqOf(state, voter)) end
local refusal = refusalOf(state, claim, ownHold(state, claim.owner))
if refusal then return refusal end
if not record(state, 'waiter', claim.id) then
enqueue(state, claim, claim.ticketText, claim.details)
callQueue(state)
end
return keep(state, claim.id, claim.ttl)
end
local function answerRenew(state, id, ttl, seq, mode)
local voter = record(state, 'holder', id)
if not voter then return keep(state, id, ttl) end
if seq > 0 then
state.seq = math.max(state.seq, seq)
if seq ~= seqOf(state, voter) then setSeq(state, id, voter, seq) end
end
prolong(state, id, voter, ttl, mode)
return granted(state, seqOf(state, voter))
end
local function answerRaise(state, id, seq)
local voter = record(state, 'holder', id)
if not voter then return 0 end
if seq ~= seqOf(state, voter) then
state.seq = math.max(state.seq + 1, seq)
setSeq(state, id, voter, state.seq)
end
return granted(state, seqOf(state, voter))
end
local function answerRelease(state, id, ballot)
local final = ballot == '9007199254740991'
local voter = record(state, 'holder', id)
if voter and tonumber(voter.ballot) <= tonumber(ballot) then
removeVoter(state, id, voter)
if not final and voter.queue then
local ticket = voter.ticket
voter.seq, voter.ballot, voter.since, voter.ticket, voter.id = nil, nil, nil, nil, nil
local text = cjson.encode(voter)
voter.id = id
enqueue(state, voter, ticket, text)
end
elseif not final or not leave(state, id) then
return 0
end
callQueue(state)
return 1
end
local function claimAt(first)
local mode, weight, limit = ARGV[first + 5], tonumber(ARGV[first + 6]), tonumber(ARGV[first + 7])
local claim = { id = ARGV[first + 1], ballotText = ARGV[first + 2], ticketText = ARGV[first + 3], ttl = tonumber(ARGV[first + 4]),
mode = mode, weight = weight, limit = limit, owner = ARGV[first + 8], delay = tonumber(ARGV[first + 9]),
queue = ARGV[first + 10] == '1', replaces = ARGV[first + 11] == '1', details = ARGV[first + 12] }
claim.ballot, claim.ticket = tonumber(claim.ballotText), tonumber(claim.ticketText)
claim.amount, claim.capacity = amountOf(mode, weight), capacityOf(claim)
return claim
end
local function answerQuestion(name, kind, id, first)
local state = load(name, id)
if not state then return { 'format' } end
sweep(state, id)
local answer
if kind == 'claim' then
answer = answerClaim(state, claimAt(first))
elseif kind == 'join' then
answer = answerJoin(state, claimAt(first))
elseif kind == 'renew' then
answer = answerRenew(state, id, tonumber(ARGV[first + 2]), tonumber(ARGV[first + 3]), ARGV[first + 4])
elseif kind == 'raise' then
answer = answerRaise(state, id, tonumber(ARGV[first + 2]))
else
answer = answerRelease(state, id, ARGV[first + 2])
end
save(state)
deliver()
return answer
end
`
const ask$1 = `return answerQuestion
end)()
answer = others(name, kind, id, at)
end
answers[index + 1] = answer
at = at + ((kind == 'claim' or kind == 'join') and 13 or kind == 'renew' and 5 or 3)
end
return answers
`
const ask = `local answers, at, others = { stamp }, 1, nil
local function holdersOf(name)
local _, stop = find(name, 'holdfast:quorum', 1, true)
return sub(name, 1, stop) .. '-holders' .. sub(name, stop + 1)
end
local function claimFree(name, id)
local holder = 'holder:' .. id
local raw = redis.pcall('HMGET', name, 'format', 'used', 'waiting', 'closed', 'seq')
if raw.err or raw[2] or raw[3] or raw[4] then return nil end
if not raw[1] and call('EXISTS', name) == 1 or raw[1] and raw[1] ~= '2' then return nil end
local seqText, ballot = ARGV[at + 2], tonumber(ARGV[at + 2])
if ballot < 1e12 or ballot > stamp + KEEP * 1000 then return nil end
if raw[5] and raw[5] + 0 >= ballot then seqText = format('%.0f', raw[5] + 1) end
local holders = holdersOf(name)
local life = format('%.0f', ARGV[at + 4] + ARGV[at + 9] + KEEP)
call('HSET', name, 'format', '2', 'seq', seqText, 'mode', 'exclusive', 'used', '1000000000', holder, '{"seq":"' .. seqText ..
'","ballot":"' .. ARGV[at + 2] .. '","ticket":"' .. ARGV[at + 3] .. '","since":' .. format('%.0f', now) .. ',' .. sub(ARGV[at + 12], 2))
call('ZADD', holders, format('%.0f', now + ARGV[at + 4]), id)
call('PEXPIRE', holders, life)
if raw[1] then call('PEXPIRE', name, life, 'GT') else call('PEXPIRE', name, life) end
return tonumber(seqText)
end
local function releaseLast(name, id)
local holder = 'holder:' .. id
local raw = redis.pcall('HMGET', name, 'format', 'waiting', 'closed', holder)
if raw.err or raw[1] ~= '2' or raw[2] or raw[3] or not raw[4] then return nil end
if not find(raw[4], '"mode":"exclusive"', 1, true) or find(raw[4], '"owner":', 1, true) then return nil end
local holders = holdersOf(name)
local ends = call('ZSCORE', holders, id)
if not ends or ends + 0 <= now then return nil end
call('ZREM', holders, id)
call('HDEL', name, holder, 'mode', 'used')
return 1
end
for index = 1, #KEYS do
local name, kind, id, answer = KEYS[index], ARGV[at], ARGV[at + 1], nil
if kind == 'claim' and ARGV[at + 5] == 'exclusive' and ARGV[at + 8] == '' and ARGV[at + 11] == '0' then
answer = claimFree(name, id)
elseif kind == 'release' and ARGV[at + 2] == '9007199254740991' then
answer = releaseLast(name, id)
end
if not answer then
others = others or (function()
`
const base = `local find = string.find
local KEEP = 86400000
local MOST = 100
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
const state = `local LOCK = 1000000000
local COUNTS = { 'seq', 'limit', 'used', 'reserved', 'waiting', 'closed' }
local function part(state, what)
if not state[what] then
local _, stop = find(state.name, 'holdfast:quorum', 1, true)
state[what] = sub(state.name, 1, stop) .. '-' .. what .. sub(state.name, stop + 1)
end
return state[what]
end
local function load(name, id)
local holder, waiter = 'holder:' .. id, 'waiter:' .. id
local raw = redis.pcall('HMGET', name, 'format', 'mode', holder, waiter, unpack(COUNTS))
if raw.err then
if find(raw.err, 'WRONGTYPE', 1, true) then return nil end
error(raw.err)
end
if raw[1] ~= '2' and (raw[1] or call('EXISTS', name) == 1) then return nil end
local state = { name = name, mode = raw[2] or '', known = { [holder] = raw[3], [waiter] = raw[4] }, changed = {}, life = 0 }
local was = { mode = state.mode, isNew = not raw[1] }
for at, count in ipairs(COUNTS) do
was[count] = tonumber(raw[at + 4] or 0)
state[count] = was[count]
end
state.was = was
return state
end
local function record(state, kind, id)
local field = kind .. ':' .. id
if state.known[field] == nil then state.known[field] = call('HGET', state.name, field) end
local text = state.known[field]
return text and cjson.decode(text) or nil
end
local function put(state, kind, id, text)
local field = kind .. ':' .. id
state.known[field] = text
state.changed[field] = true
end
local function expireSet(name, life, isNew)
if isNew then call('PEXPIRE', name, life) else call('PEXPIRE', name, life, 'GT') end
end
local function countText(count)
return format('%.0f', count)
end
local function save(state)
local puts, drops, was = {}, {}, state.was
if state.used == 0 and state.waiting == 0 then
state.mode, state.limit, state.reserved = '', 0, 0
if state.closed <= now then state.closed = 0 end
end
for field in pairs(state.changed) do
local text = state.known[field]
if text then
puts[#puts + 1] = field
puts[#puts + 1] = text
else
drops[#drops + 1] = field
end
end
for _, count in ipairs(COUNTS) do
if state[count] == 0 then
if was[count] ~= 0 then drops[#drops + 1] = count end
elseif state[count] ~= was[count] then
puts[#puts + 1] = count
puts[#puts + 1] = countText(state[count])
end
end
if state.mode == '' then
if was.mode ~= '' then drops[#drops + 1] = 'mode' end
elseif state.mode ~= was.mode then
puts[#puts + 1] = 'mode'
puts[#puts + 1] = state.mode
end
if #puts > 0 then
if was.isNew then
puts[#puts + 1] = 'format'
puts[#puts + 1] = '2'
end
call('HSET', state.name, unpack(puts))
end
if #drops > 0 then call('HDEL', state.name, unpack(drops)) end
if was.isNew and #puts > 0 then
call('PEXPIRE', state.name, countText(math.max(state.life, KEEP)))
elseif state.life > 0 then
call('PEXPIRE', state.name, countText(state.life), 'GT')
end
end
`
const step = `local CALL = 1000
local calls = 0
local function tell(state, inbox, kind, id)
post(inbox, kind .. '\\0' .. id .. '\\0' .. state.name)
end
local function amountOf(mode, weight)
return mode == 'permits' and weight or mode == 'shared' and 1 or LOCK
end
local function capacityOf(claim)
return claim.mode == 'permits' and claim.limit or LOCK
end
local function ownHold(state, owner)
if not owner or owner == '' or state.used == 0 then return nil end
return record(state, 'owner', owner)
end
local function liveFor(state, what, life, isNew)
life = life + KEEP
state.life = math.max(state.life, life)
expireSet(part(state, what), countText(life), isNew)
end
local function leave(state, id)
local waiter = record(state, 'waiter', id)
if not waiter then return false end
if call('ZREM', part(state, 'queue'), id) == 0 and call('ZREM', part(state, 'called'), id) == 1 then
state.reserved = state.reserved - amountOf(waiter.mode, waiter.weight)
end
call('ZREM', part(state, 'deadlines'), id)
if waiter.owner then call('ZREM', part(state, 'owned'), waiter.owner .. '\\0' .. id) end
put(state, 'waiter', id, false)
state.waiting = state.waiting - 1
return true
end
local function tellHolders(state)
if state.used == 0 then return end
for _, id in ipairs(call('ZRANGE', part(state, 'holders'), 0, 31)) do
local voter = record(state, 'holder', id)
if voter then tell(state, voter.inbox, 'contended', id) end
end
end
local function enqueue(state, claim, ticket, text)
local id = claim.id
local before = record(state, 'waiter', id)
if not before then
if state.waiting == 0 then tellHolders(state) end
elseif call('ZREM', part(state, 'called'), id) == 1 then
state.reserved = state.reserved - amountOf(before.mode, before.weight)
end
local isNew = state.waiting == 0
local joined = before and before.joined or now
put(state, 'waiter', id, format('{"ticket":"%s","joined":%.0f,', ticket, joined) .. sub(text, 2))
call('ZADD', part(state, 'queue'), ticket, id)
call('ZADD', part(state, 'deadlines'), 'GT', countText(now + claim.ttl), id)
liveFor(state, 'queue', claim.ttl, isNew)
liveFor(state, 'deadlines', claim.ttl, isNew)
if claim.owner and claim.owner ~= '' then
call('ZADD', part(state, 'owned'), 0, claim.owner .. '\\0' .. id)
liveFor(state, 'owned', claim.ttl, call('PTTL', part(state, 'owned')) < 0)
end
if before then return end
state.waiting = state.waiting + 1
if state.waiting == 1 and state.used == 0 then
state.mode, state.limit = claim.mode, claim.mode == 'permits' and claim.limit or 0
end
end
local function callOne(state, id, waiter)
call('ZREM', part(state, 'queue'), id)
call('ZADD', part(state, 'called'), waiter.ticket, id)
expireSet(part(state, 'called'), countText(KEEP), state.reserved == 0)
call('ZADD', part(state, 'deadlines'), 'LT', countText(now + CALL), id)
state.reserved = state.reserved + amountOf(waiter.mode, waiter.weight)
state.hasCalled, calls = true, calls + 1
tell(state, waiter.inbox, 'free', id)
end
local function callQueue(state)
if state.waiting == 0 or state.closed > now then return end
while calls < MOST or not state.hasCalled do
local id = call('ZRANGE', part(state, 'queue'), 0, 0)[1]
if not id then return end
local waiter = record(state, 'waiter', id)
local own = ownHold(state, waiter.owner)
local comes
if own then
comes = covers(state.mode, own.weight, waiter)
else
comes = state.used + state.reserved + amountOf(waiter.mode, waiter.weight) <= capacityOf(waiter)
end
if not comes then return end
callOne(state, id, waiter)
end
end
local function callJoiners(state, owner, weight)
if state.waiting == 0 or state.closed > now then return end
local range = call('ZRANGEBYLEX', part(state, 'owned'), '[' .. owner .. '\\0', '(' .. owner .. '\\1', 'LIMIT', 0, MOST)
for _, member in ipairs(range) do
local id = sub(member, #owner + 2)
local waiter = record(state, 'waiter', id)
if waiter and covers(state.mode, weight, waiter) and call('ZSCORE', part(state, 'queue'), id) then callOne(state, id, waiter) end
end
end
local function removeVoter(state, id, voter)
call('ZREM', part(state, 'holders'), id)
put(state, 'holder', id, false)
local weight = voter.weight
if voter.owner then
local own = record(state, 'owner', voter.owner)
own.members = own.members - 1
weight = own.weight
put(state, 'owner', voter.owner, own.members > 0 and cjson.encode(own) or false)
if own.members > 0 then return end
end
state.used = state.used - amountOf(state.mode, weight)
end
local function expireVoter(state, id, expires)
local voter = record(state, 'holder', id)
if not voter then return call('ZREM', part(state, 'holders'), id) end
removeVoter(state, id, voter)
if voter.delay then state.closed = math.max(state.closed, expires + voter.delay) end
end
local function firstOf(name)
local first = call('ZRANGE', name, 0, 0, 'WITHSCORES')
return first[1], tonumber(first[2])
end
local function sweep(state, own)
if state.waiting > 0 then
local deadlines = part(state, 'deadlines')
local id, at = firstOf(deadlines)
if not id then
state.waiting, state.reserved = 0, 0
elseif at <= now then
for _, gone in ipairs(call('ZRANGEBYSCORE', deadlines, '-inf', now, 'LIMIT', 0, MOST)) do leave(state, gone) end
end
end
if state.used > 0 then
local holders = part(state, 'holders')
local id, at = firstOf(holders)
if not id then
state.used = 0
elseif at <= now then
local gone = call('ZRANGEBYSCORE', holders, '-inf', now, 'WITHSCORES', 'LIMIT', 0, MOST)
for index = 1, #gone, 2 do expireVoter(state, gone[index], tonumber(gone[index + 1])) end
end
end
callQueue(state)
if state.used > 0 then
local at = state.known['holder:' .. own] and tonumber(call('ZSCORE', part(state, 'holders'), own) or 0)
if at and at <= now then expireVoter(state, own, at) end
end
if state.waiting > 0 then
local at = state.known['waiter:' .. own] and tonumber(call('ZSCORE', part(state, 'deadlines'), own) or 0)
if at and at <= now then leave(state, own) end
end
end
`
const time = `local call, byte, sub, format = redis.call, string.byte, string.sub, string.format
local time = call('TIME')
local stamp = time[1] * 1000000 + time[2]
local now = math.floor(stamp / 1000)
`

export const SCRIPTS = {
  ask: {
    sha: 'fc2b907e5e845033a65baccb49945931904ab260',
    source: `${time}${base}${ask}${notifications}${admission}${state}${step}${answer}${ask$1}`,
  },
  askAlways: {
    sha: '790def140ad539eb583e85de6dc975c3752d4a34',
    source: `#!lua flags=allow-oom
${time}${base}${ask}${notifications}${admission}${state}${step}${answer}${ask$1}`,
  },
  evict: {
    sha: 'a793f1be47c3c4ebe0accd22ac1f36c10f63392b',
    source: `#!lua flags=allow-oom
${time}${base}${notifications}${admission}${state}${step}local ask, found = ARGV[1] == 'ask', 0
local state = load(KEYS[1], ARGV[2] or '')
if not state then return -1 end
sweep(state, ARGV[2] or '')
for at = 2, #ARGV do
local id = ARGV[at]
local voter = record(state, 'holder', id)
if voter then
found = found + 1
tell(state, voter.inbox, ask and 'revoked' or 'evicted', id)
if not ask then removeVoter(state, id, voter) end
end
end
if not ask then callQueue(state) end
save(state)
deliver()
return found
`,
  },
  read: {
    sha: 'bdb6a2a57b1e8168bd9d2795b9b0502292929bed',
    source: `${time}${base}${state}local function show(name)
local state = load(name, '')
if not state then return -1 end
local cursor, fields = unpack(call('HSCAN', name, ARGV[2], 'COUNT', ARGV[1]))
local shown = { holders = {}, queue = {}, called = {}, deadlines = {} }
local function add(what, id)
local members, score = shown[what], call('ZSCORE', part(state, what), id)
if not score then return end
members[#members + 1] = id
members[#members + 1] = score
end
for at = 1, #fields, 2 do
local kind, id = string.match(fields[at], '^(%a+):(.*)$')
if kind == 'holder' then
add('holders', id)
elseif kind == 'waiter' then
add('queue', id)
add('called', id)
add('deadlines', id)
end
end
return { cursor, fields, shown.holders, shown.queue, shown.called, shown.deadlines }
end
local answers = { stamp }
for index = 1, #KEYS do answers[index + 1] = show(KEYS[index]) end
return answers
`,
  },
} as const
