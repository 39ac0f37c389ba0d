-- Claims keys in order; the adjacent claims of a group all or none.
-- KEYS[i]: the state of the lock of claim i; its other keys are named in lib/lock.lua
-- ARGV[i]: claim i as JSON: id, inbox, label, mode, ttl; optional: limit, weight, queue, owner, actor, meta, delay, group, replaces
-- Answers: one for each claim: a sequence number, negative when others wait; or { 'granted', seq, contended };
--          or { 'blocked', position, retryAfterMs or -1, storeTimeMs, label, heldMs }, without the last two if nobody holds;
--          or { 'refused', reason, message }; or { 'format' } for a key in a format that this script does not know;
--          or { 'again' } while a part of the lock is on another server
-- @flags none
-- @include lib/lock.lua
local answers, steps = {}, nil

local function makeSteps()
  -- @include lib/step.lua
  -- @include lib/claim.lua
  local function claimOne(key, claim)
    local lock = lockOf(key)
    if not lock then return { 'format' } end
    local answer = applyClaim(lock, claim)
    save(lock)
    deliver()
    return answer
  end

  local function claimGroup(claims, first, last)
    for index = first, last do lockOf(KEYS[index]) end
    for index = first, last do
      local lock = lockOf(KEYS[index])
      local answer = lock and applyClaim(lock, claims[index]) or { 'format' }
      if type(answer) == 'table' and answer[1] ~= 'granted' then
        -- Nothing was written yet, so the roll-back is to drop the locks.
        notifications = {}
        for other = first, last do
          locks[KEYS[other]] = nil
          answers[other] = { 'blocked', 0, -1, now }
        end
        answers[index] = answer
        return true
      end
      answers[index] = answer
    end
    for index = first, last do save(locks[KEYS[index]]) end
    deliver()
    return true
  end

  return { one = claimOne, group = claimGroup, attempted = attempted }
end

-- The fast path: an exclusive claim of a free lock. The general path has the same effect at half the speed.
local function claimFree(key, claim)
  if claim.mode ~= 'exclusive' or claim.owner or claim.replaces then return nil end
  local lock = lockAt(key)
  if not lock or isHeld(lock) or lock.fields.waiting or lock.fields.closed or lock.fields.missed then return nil end
  local seq = grantSole(lock, claim, now + claim.ttl, nextSeq(lock))
  keep(lock, now + claim.ttl + (claim.delay or 0))
  save(lock)
  return seq
end

local claims = {}
for index = 1, #KEYS do
  claims[index] = cjson.decode(ARGV[index])
  claims[index].text = ARGV[index]
end
local index = 1
while index <= #KEYS do
  local claim, last = claims[index], index
  claim.weight = claim.weight or 1
  answers[index] = not claim.group and claimFree(KEYS[index], claim) or nil
  if not answers[index] then
    steps = steps or makeSteps()
    if claim.group then
      while claims[last + 1] and claims[last + 1].group == claim.group do
        last = last + 1
        claims[last].weight = claims[last].weight or 1
      end
      if not steps.attempted(steps.group, claims, index, last) then
        for member = index, last do answers[member] = { 'again' } end
      end
    else
      answers[index] = steps.attempted(steps.one, KEYS[index], claim) or { 'again' }
    end
  end
  index = last + 1
end
return answers
