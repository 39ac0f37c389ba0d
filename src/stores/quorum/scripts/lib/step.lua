-- What a node does: src/stores/quorum/meaning, line by line.
-- @include state.lua
local CALL = 1000
local letters = {}
local keyName = nil

local function tell(inbox, kind, id)
  letters[#letters + 1] = { inbox, kind .. '\0' .. id .. '\0' .. keyName }
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

-- Calls those at the head of the line that could come in together, and those who would join their own hold.
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

-- Drops what is dead and who did not come when called, then calls whom that lets in.
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
