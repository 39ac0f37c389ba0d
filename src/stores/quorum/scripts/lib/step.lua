-- Port of src/stores/quorum/node-model/draft.ts: changes of holds and of the queue.
-- @include ../../../redis/scripts/lib/notifications.lua
-- @include ../../../redis/scripts/lib/admission.lua
-- @include state.lua
local CALL = 1000
-- Waiters that all steps of this request have called: its keys share MOST, so that the request stays short.
local calls = 0

local function tell(state, inbox, kind, id)
  post(inbox, kind .. '\0' .. id .. '\0' .. state.name)
end

local function amountOf(mode, weight)
  return mode == 'permits' and weight or mode == 'shared' and 1 or LOCK
end

local function capacityOf(claim)
  return claim.mode == 'permits' and claim.limit or LOCK
end

-- The hold that claims of a named owner share.
local function ownHold(state, owner)
  if not owner or owner == '' or state.used == 0 then return nil end
  return record(state, 'owner', owner)
end

-- A key is kept for a day after its last claim, so that its sequence numbers rise.
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
  if waiter.owner then call('ZREM', part(state, 'owned'), waiter.owner .. '\0' .. id) end
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

-- `text` is the JSON of the claim without `ticket` and `joined`.
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
    call('ZADD', part(state, 'owned'), 0, claim.owner .. '\0' .. id)
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

-- Calls waiters from the head of the queue while they fit beside the holders and the waiters called before. Beyond the limit of the
-- request a key still calls one; the next are called when that one comes or its call ends.
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

-- Calls waiters that would join a new hold of their own owner, at any position.
local function callJoiners(state, owner, weight)
  if state.waiting == 0 or state.closed > now then return end
  local range = call('ZRANGEBYLEX', part(state, 'owned'), '[' .. owner .. '\0', '(' .. owner .. '\1', 'LIMIT', 0, MOST)
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

-- The first member and its score, or nil.
local function firstOf(name)
  local first = call('ZRANGE', name, 0, 0, 'WITHSCORES')
  return first[1], tonumber(first[2])
end

-- Drops expired claims and called waiters that did not come, then calls the next. `own`, the claim of the question, is dropped if it
-- has expired, however many others have.
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
