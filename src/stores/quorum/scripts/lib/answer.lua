-- What each kind of question does to a key, and how it is answered.
-- The usual answer to a claim or a renewal is one number: the sequence number, negative when others wait.
local function granted(state, seq)
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

-- Never shortened. A writer that asks as a reader becomes one.
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

-- Only an exclusive holder hands its claim over locally, so only that one needs to know that others wait.
local function tellHolders(state)
  for _, hold in ipairs(state.holds) do
    if hold[2] == 'e' then
      for _, voter in ipairs(hold[6]) do tellVoter(voter, 'contended') end
    end
  end
end

-- Takes a place in the line by ticket, or keeps it with what is new.
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

-- Whether nobody who asked earlier waits, or the claim was called.
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
    -- Whoever is refused goes away, so it must not keep a place that others wait behind.
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
    -- A ballot that is no time proposes nothing.
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

-- A number that the node never gave to another claim: two claims that reach a majority with it would share a node.
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
  -- A roll-back gives up a vote, not the place in the line.
  elseif ballot ~= '9007199254740991' or not leave(state, id) then
    return 0
  end
  callLine(state)
  return 1
end
