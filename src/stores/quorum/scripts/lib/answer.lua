-- Port of src/stores/quorum/node-model/answer.ts: the effect of each question and its answer.
-- The usual answer to a claim or a renewal is one number: the sequence number, negative when others wait.
local function granted(state, seq)
  return state.waiting > 0 and -seq or seq
end

-- A refusal is final, so a refused claim must not keep a position that others wait behind.
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

-- Never shortens. A writer that asks as a reader becomes a reader.
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

-- Admits a called claim, and the head of the queue: beside the called waiters, or before them if its ticket is older. An older ticket
-- wins at every node, and that ends a split vote.
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

-- The time until a hold, a lock delay, a position or a call ends.
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
    -- A ballot that is no time proposes nothing.
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

-- A heartbeat does not prolong a call: a called waiter must come.
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

-- Never a number that the node gave to another claim: two majorities share a node, so two leases would share a token.
local function answerRaise(state, id, seq)
  local voter = record(state, 'holder', id)
  if not voter then return 0 end
  if seq ~= seqOf(state, voter) then
    state.seq = math.max(state.seq + 1, seq)
    setSeq(state, id, voter, state.seq)
  end
  return granted(state, seqOf(state, voter))
end

-- A final release ends everything; a vote that is taken back returns its claim to the queue if it waits.
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

-- The claim of a question whose arguments begin at `first`.
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
