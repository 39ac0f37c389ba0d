-- Rules of admission that the scripts of the quorum share: src/model/admission.ts.
local function refused(reason, message)
  return { 'refused', reason, message }
end

local function wordFor(mode)
  return mode == 'permits' and 'a semaphore' or 'a lock'
end

-- Refuses a claim that does not suit the mode and the limit of a key in use; `mode` is nothing for a free key.
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

-- A hold of that mode and weight gives what the claim asks for.
local function covers(mode, weight, claim)
  if mode == 'permits' then return claim.mode == 'permits' and claim.weight <= weight end
  return mode == 'exclusive' or claim.mode == 'shared'
end

local function upgrade(mode, own, claim)
  if own and not covers(mode, own.weight, claim) then
    return refused('upgrade', 'the owner holds the key already, with less than it now asks for: release that first')
  end
end
