-- What a claim does to a key, and what it is answered.
local function granted(state, hold)
  local contended = #state.line > 0
  -- The usual answer is one number: the sequence number, negative when others wait.
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

-- A claim that holds the key already is the same claim: it is granted again, for its full ttl.
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
  -- Claims that share a hold share its token, so only a hold of one claim can move the fence.
  if #hold[6] == 1 then hold[5] = takeSeq(state) end
  tell(hold[6][index], 'lost', 'adopted')
  hold[6][index] = { now + claim.ttl, now, claim.tail }
  state.changed = true
  return granted(state, hold)
end

-- Those before a claim stand in its way as the holders do: one of them may be dead.
local function retryAfter(state, before)
  local at = state.closed > now and state.closed or math.huge
  for _, hold in ipairs(state.holds) do
    for _, member in ipairs(hold[6]) do at = math.min(at, member[1]) end
  end
  for place = 1, before do at = math.min(at, state.line[place][1]) end
  return at == math.huge and -1 or at - now
end

-- Only an exclusive holder hands its claim over locally, so only that one needs to know that others wait.
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
    -- Whoever is refused goes away, so it must not keep a place that others wait behind.
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
