-- The meaning of a lock: src/model/step.ts and src/model/draft.ts, line by line.
-- @include state.lua
local letters = {}
local keyName = nil

local function post(inbox, text)
  letters[#letters + 1] = { inbox, text }
end

-- The letters are written so that a client can read them without knowing the state: fields ended by zero bytes, the key last.
local function deliver()
  for _, letter in ipairs(letters) do call('PUBLISH', 'holdfast:inbox:' .. letter[1], letter[2]) end
  letters = {}
end

local function tell(member, kind, detail)
  local id, inbox = string.match(member[3], TAIL)
  post(inbox, kind .. '\0' .. id .. '\0' .. detail .. '\0' .. keyName)
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

-- Only the head of the line may come in, and those who join a hold of their own.
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
    post(claim.inbox, format('granted\0%s\0%.0f\0%d\0%d\0%.0f\0%.0f\0', claim.id, hold[5], spareOf(hold),
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

-- Drops what is dead, then admits whom that lets in.
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
