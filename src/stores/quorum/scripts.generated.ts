// Written by scripts/lua.mjs from scripts/*.lua; do not edit.
const answer = `local function granted(state, seq)
return #state.line > 0 and -seq or seq
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
local head = claimOf(state.line[1][5])
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
local function prolong(state, hold, voter, ttl, kind)
voter[1] = math.max(voter[1], now + ttl)
state.changed = true
if hold[2] == 'e' and kind == 's' and #hold[6] == 1 then
hold[2] = 's'
callLine(state)
end
end
local function retryAfter(state, before)
local at = state.closed > now and state.closed or math.huge
for _, hold in ipairs(state.holds) do
for _, voter in ipairs(hold[6]) do at = math.min(at, voter[1]) end
end
for place = 1, before do
local watcher = state.line[place]
at = math.min(at, watcher[1], watcher[4] > 0 and watcher[4] or math.huge)
end
return at == math.huge and -1 or at - now
end
local function tellHolders(state)
for _, hold in ipairs(state.holds) do
if hold[2] == 'e' then
for _, voter in ipairs(hold[6]) do tellVoter(voter, 'contended') end
end
end
end
local function queue(state, claim)
if #state.line == 0 then tellHolders(state) end
local watcher = { now + claim.ttl, now, claim.ticket, 0, claim.argument }
local joined = placeOf(state, claim.id)
if joined then
local old = table.remove(state.line, joined)
watcher[1], watcher[2] = math.max(old[1], watcher[1]), old[2]
end
local place = 1
while state.line[place] and state.line[place][3] <= claim.ticket do place = place + 1 end
table.insert(state.line, place, watcher)
state.changed = true
return place
end
local function block(state, claim)
local place = claim.queue and queue(state, claim)
local answer = { 'blocked', place or 0, retryAfter(state, place and place - 1 or #state.line), now }
local first = state.holds[1]
if first then
local voter = first[6][1]
local _, _, label = string.match(voter[4], TAIL)
answer[5], answer[6] = label, now - voter[2]
end
return answer
end
local function isFirst(state, claim)
for _, watcher in ipairs(state.line) do
if isOf(claim.id, watcher[5], 44) then
if watcher[4] > 0 then return true end
elseif watcher[3] <= claim.ticket then
local place = placeOf(state, claim.id)
return place ~= nil and state.line[place][4] > 0
end
end
return true
end
local function answerClaim(state, claim)
if claim.ballot > stamp + KEEP * 1000 then return { 'ahead' } end
local hold, index = voterOf(state, claim.id)
if hold then
if not covers(hold, claim) then
return refused('upgrade', 'a shared lease cannot become an exclusive one: release it first')
end
local voter = hold[6][index]
voter[3] = math.max(voter[3], claim.ballot)
prolong(state, hold, voter, claim.ttl, claim.kind)
return granted(state, hold[5])
end
if claim.replaces then return refused('absent', 'the lease is no longer held') end
local own = ownHold(state, claim)
local refusal = mismatch(state, claim)
if not refusal and own and not covers(own, claim) then
refusal = refused('upgrade', 'the owner holds the key already, with less than it now asks for: release that first')
end
if refusal then
if leave(state, claim.id) then callLine(state) end
return refusal
end
if not own and (state.closed > now or not fits(claim, state.holds) or not isFirst(state, claim)) then
return block(state, claim)
end
leave(state, claim.id)
state.changed = true
local voter = { now + claim.ttl, now, claim.ballot, claim.tail }
if own then
table.insert(own[6], voter)
else
state.seq = math.max(state.seq + 1, claim.ballot < 1e12 and stamp or claim.ballot)
table.insert(state.holds, { claim.owner or false, claim.kind, claim.limit, claim.weight, state.seq, { voter } })
end
callLine(state)
return granted(state, own and own[5] or state.seq)
end
local function answerRenew(state, argument)
local ttl, seq, kind, id = tonumber(sub(argument, 2, 11)), tonumber(sub(argument, 12, 27)), sub(argument, 28, 28),
sub(argument, 29)
local hold, index = voterOf(state, id)
if not hold then return 0 end
if seq > 0 then
hold[5] = seq
state.seq = math.max(state.seq, seq)
end
prolong(state, hold, hold[6][index], ttl, kind)
return granted(state, hold[5])
end
local function answerRaise(state, argument)
local seq, hold = tonumber(sub(argument, 2, 17)), voterOf(state, sub(argument, 18))
if not hold then return 0 end
if seq ~= hold[5] then
state.seq = math.max(state.seq + 1, seq)
hold[5] = state.seq
state.changed = true
end
return granted(state, hold[5])
end
local function answerRelease(state, ballot, id)
local hold, index, at = voterOf(state, id)
if hold and hold[6][index][3] <= tonumber(ballot) then
remove(state, hold, index, at)
elseif ballot ~= '9007199254740991' or not leave(state, id) then
return 0
end
callLine(state)
return 1
end
`
const base = `local call, byte, sub, format = redis.call, string.byte, string.sub, string.format
local KEEP = 86400000
local stampText, nowText = nil, nil
`
const clock = `local time = call('TIME')
stampText = time[1] .. sub('00000' .. time[2], -6)
nowText = sub(stampText, 1, 13)
`
const state = `local stamp, now = tonumber(stampText), tonumber(nowText)
local TAIL = '^([^%z]*)%z([^%z]*)%z([^%z]*)%z([^%z]*)%z([^%z]*)%z([^%z]*)%z()'
local MORE = '([^%z]*)%z([^%z]*)%z([^%z]*)%z([^%z]*)%z([^%z]*)%z([^%z]*)%z'
local function isOf(id, text, from)
return sub(text, from, from + #id) == id .. '\\0'
end
local function load(value)
if not value then return { seq = 0, closed = 0, holds = {}, line = {} } end
local form = sub(value, 1, 2)
if form == '2f' then return { seq = tonumber(sub(value, 3)), closed = 0, holds = {}, line = {} } end
if form == '2x' then
local seq, expires = tonumber(sub(value, 3, 18)), sub(value, 48, 60) + sub(value, 61, 70)
local voter = { expires, tonumber(sub(value, 35, 47)), tonumber(sub(value, 19, 34)), sub(value, 71) }
return { seq = seq, closed = 0, holds = { { false, 'e', 0, 1, seq, { voter } } }, line = {} }
end
if form ~= '2s' then return nil end
local all = cmsgpack.unpack(sub(value, 3))
return { seq = all[1], closed = all[2], holds = all[3], line = all[4] }
end
local function write(state)
local seq, holds = state.seq, state.holds
if #state.line == 0 and state.closed <= now then
if #holds == 0 then return format('2f%016.0f', seq) end
local hold = holds[1]
if #holds == 1 and hold[2] == 'e' and not hold[1] and #hold[6] == 1 and hold[5] == seq then
local voter = hold[6][1]
local ttl = voter[1] - now
local _, _, _, _, _, delay = string.match(voter[4], TAIL)
if tonumber(delay) <= KEEP then return format('2x%016.0f%016.0f%013.0f%013.0f%010.0f', seq, voter[3], voter[2], now, ttl) .. voter[4] end
end
end
return '2s' .. cmsgpack.pack({ seq, state.closed, holds, state.line })
end
local function lifeOf(state)
local until_ = math.max(now + KEEP, state.closed)
for _, hold in ipairs(state.holds) do
for _, voter in ipairs(hold[6]) do
local _, _, _, _, _, delay = string.match(voter[4], TAIL)
until_ = math.max(until_, voter[1] + delay)
end
end
for _, watcher in ipairs(state.line) do until_ = math.max(until_, watcher[1]) end
return format('%.0f', until_ - now)
end
local function save(key, state)
call('SET', key, write(state), 'PX', lifeOf(state))
end
local function claimOf(argument)
local id, inbox, label, actor, meta, delay, after = string.match(argument, TAIL, 44)
local claim = { id = id, inbox = inbox, ttl = tonumber(sub(argument, 34, 43)), ballot = tonumber(sub(argument, 2, 17)),
ticket = tonumber(sub(argument, 18, 33)), tail = sub(argument, 44, after - 1),
kind = 'e', limit = 0, weight = 1, queue = sub(argument, 1, 1) == 'x', argument = argument }
if sub(argument, 1, 1) == 'f' then
local queue, kind, limit, weight, owner, replaces = string.match(argument, MORE, after)
claim.queue, claim.kind, claim.limit, claim.weight = queue == '1', kind, tonumber(limit), tonumber(weight)
claim.replaces = replaces ~= ''
if owner ~= '' then claim.owner = owner end
end
return claim
end
`
const step = `local CALL = 1000
local letters = {}
local keyName = nil
local function tell(inbox, kind, id)
letters[#letters + 1] = { inbox, kind .. '\\0' .. id .. '\\0' .. keyName }
end
local function tellVoter(voter, kind)
local id, inbox = string.match(voter[4], TAIL)
tell(inbox, kind, id)
end
local function deliver()
for _, letter in ipairs(letters) do call('PUBLISH', 'holdfast:inbox:' .. letter[1], letter[2]) end
letters = {}
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
local function callLine(state)
if #state.line == 0 or state.closed > now then return end
local beside, open = {}, true
for at, hold in ipairs(state.holds) do beside[at] = hold end
for _, watcher in ipairs(state.line) do
local claim = claimOf(watcher[5])
local own = ownHold(state, claim)
local comes = own and covers(own, claim)
if not comes then
open = open and not own and fits(claim, beside)
if open then beside[#beside + 1] = { false, claim.kind, claim.limit, claim.weight } end
comes = open
end
if comes and watcher[4] == 0 then
watcher[4] = now + CALL
state.changed = true
tell(claim.inbox, 'free', claim.id)
end
end
end
local function expire(state)
local alive = {}
for _, hold in ipairs(state.holds) do
local voters = {}
for _, voter in ipairs(hold[6]) do
if voter[1] > now then
voters[#voters + 1] = voter
else
state.changed = true
local _, _, _, _, _, delay = string.match(voter[4], TAIL)
if tonumber(delay) > 0 then state.closed = math.max(state.closed, voter[1] + delay) end
end
end
hold[6] = voters
if #voters > 0 then alive[#alive + 1] = hold end
end
state.holds = alive
end
local function sweep(state)
local line = {}
for _, watcher in ipairs(state.line) do
if watcher[1] > now and (watcher[4] == 0 or watcher[4] > now) then line[#line + 1] = watcher end
end
if #line < #state.line then state.changed = true end
state.line = line
expire(state)
callLine(state)
end
local function voterOf(state, id)
for at, hold in ipairs(state.holds) do
for index, voter in ipairs(hold[6]) do
if isOf(id, voter[4], 1) then return hold, index, at end
end
end
end
local function remove(state, hold, index, at)
table.remove(hold[6], index)
if #hold[6] == 0 then table.remove(state.holds, at) end
state.changed = true
end
local function placeOf(state, id)
for place, watcher in ipairs(state.line) do
if isOf(id, watcher[5], 44) then return place end
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

export const SCRIPTS = {
  ask: {
    sha: '3a4bfa655858565db92d7934f5b0508a60b8ebb8',
    source: `${base}local CLAIM, CLAIM_ONCE, RENEW, RAISE, ROLL_BACK, RELEASE = 120, 121, 110, 112, 114, 113
local answers, other = nil, nil
for index = 1, #KEYS do
local key, argument = KEYS[index], ARGV[index]
local letter, value = byte(argument), call('GET', key)
local form, answer = value and sub(value, 1, 2), nil
if letter == RELEASE then
local id = sub(argument, 2)
if not value or form == '2f' then
answer = 0
elseif form == '2x' and sub(value, 71, 70 + #id) == id and byte(value, 71 + #id) == 0 and call('PTTL', key) > KEEP then
call('SET', key, '2f' .. sub(value, 3, 18), 'KEEPTTL')
answer = 1
end
end
if not answer and not stampText then
${clock}end
if letter == CLAIM or letter == CLAIM_ONCE then
local ballot = sub(argument, 2, 17)
if (not value or form == '2f') and (ballot <= stampText or ballot <= format('%016.0f', stampText + KEEP * 1000)) then
local seq = ballot
answer = 1
if value and sub(value, 3) >= ballot then
seq = format('%016.0f', sub(value, 3) + 1)
answer = tonumber(seq)
end
call('SET', key, '2x' .. seq .. ballot .. nowText .. nowText .. sub(argument, 34, -9), 'PX', sub(argument, -8))
end
elseif letter == RENEW and (not value or form == '2f') then
answer = 0
elseif letter == RENEW and form == '2x' and sub(argument, 28, 28) == 'e' then
local life, seq, id, held = sub(argument, 2, 11), sub(argument, 12, 27), sub(argument, 29), sub(value, 3, 18)
local left = sub(value, 48, 60) + sub(value, 61, 70) - nowText
if seq == '0000000000000000' then seq = held end
if left > 0 and sub(value, 71, 70 + #id) == id and byte(value, 71 + #id) == 0 and seq >= held then
if left > tonumber(life) then life = format('%010.0f', left) end
call('SET', key, '2x' .. seq .. sub(value, 19, 47) .. nowText .. life .. sub(value, 71), 'PX',
format('%.0f', life + KEEP))
answer = tonumber(seq)
end
end
if not answer then
other = other or (function()
${state}${step}${answer}return function(key, letter, argument, value)
local state = load(value)
if not state then return { 'format' } end
keyName = key
sweep(state)
local answer
if letter == RENEW then
answer = answerRenew(state, argument)
elseif letter == RAISE then
answer = answerRaise(state, argument)
elseif letter == RELEASE then
answer = answerRelease(state, '9007199254740991', sub(argument, 2))
elseif letter == ROLL_BACK then
answer = answerRelease(state, sub(argument, 2, 17), sub(argument, 18))
else
answer = answerClaim(state, claimOf(argument))
end
if state.changed then save(key, state) end
deliver()
return answer
end
end)()
answer = other(key, letter, argument, value)
end
if answer == 1 and #KEYS == 1 then return stampText or 1 end
answers = answers or {}
answers[index + 1] = answer
end
answers[1] = stampText or 0
return answers
`,
  },
  evict: {
    sha: 'a3e9cd02141fbda7947b1056f6a6d62bfd94e32d',
    source: `${base}${clock}${state}${step}local key, ask, found = KEYS[1], ARGV[1] == 'ask', 0
local state = load(call('GET', key))
if not state then return -1 end
keyName = key
sweep(state)
for id in string.gmatch(ARGV[2], '([^%z]*)%z') do
local hold, index, at = voterOf(state, id)
if hold then
found = found + 1
tellVoter(hold[6][index], ask and 'revoked' or 'evicted')
if not ask then remove(state, hold, index, at) end
end
end
if not ask then callLine(state) end
if state.changed then save(key, state) end
deliver()
return found
`,
  },
  read: {
    sha: 'b29145972ccfddbc012a26209c807df48a412eac',
    source: `${base}${clock}${state}local answers = { stamp }
for index = 1, #KEYS do
local state = load(call('GET', KEYS[index]))
answers[index + 1] = state and { state.seq, state.closed, state.holds, state.line } or -1
end
return answers
`,
  },
} as const
