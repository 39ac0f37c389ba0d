-- Claims plain locks, each in its turn.
-- KEYS[i]: for each claim the lock, then the state beside it; the other keys are named in lib/plain.lua
-- ARGV[i]: claim i as JSON: id, inbox, label, ttl; and if there is more to say: queue, actor, meta, replaces
-- Answers, one for each claim: a sequence number, negative when others of ours wait;
--          or { 'blocked', position, retryAfterMs or -1, storeTimeMs, label, heldMs }, with '' and -1 if the holder is not
--          ours, and without the last two if it is the turn of another waiter; or { 'refused', reason, message };
--          or { 'format' } for a state in a format that this script does not know
-- @flags none
-- @include lib/plain.lua
-- @include lib/plain-queue.lua
-- How soon the first waiters look again while another library holds.
local LOOK = 100
local LEFTOVERS = { 'actor', 'meta', 'turn', 'turnEnds' }

local function granted(lock)
  local seq = seqOf(lock)
  return firstOf(lock) and -seq or seq
end

local function grant(lock, claim)
  local key, side, fields, gone = lock.key, lock.side, lock.fields, {}
  if firstOf(lock) then leave(lock, claim.id) end
  call('SET', key, claim.id, 'PX', claim.ttl)
  for _, field in ipairs(LEFTOVERS) do
    if fields[field] then gone[#gone + 1] = field end
  end
  if #gone > 0 then call('HDEL', side, unpack(gone)) end
  local state = { 'format', FORMAT, 'seq', nextSeq(lock), 'id', claim.id, 'inbox', claim.inbox, 'label', claim.label,
    'since', now }
  for _, field in ipairs({ 'actor', 'meta' }) do
    if claim[field] then
      state[#state + 1] = field
      state[#state + 1] = claim[field]
    end
  end
  call('HSET', side, unpack(state))
  keep(lock, claim.ttl)
  return granted(lock)
end

local function again(lock, claim)
  local key = lock.key
  if not isOurs(lock) then return grant(lock, claim) end
  if claim.ttl > call('PTTL', key) then
    call('PEXPIRE', key, claim.ttl)
    keep(lock, claim.ttl)
  end
  return granted(lock)
end

local function join(lock, claim)
  local queue, claims, side = partOf(lock, 'queue'), partOf(lock, 'claims'), lock.side
  local position = positionOf(lock, claim.id)
  if not position then
    if not firstOf(lock) then tell(lock, 'contended', '') end
    if not lock.fields.format then call('HSET', side, 'format', FORMAT) end
    local last = call('ZRANGE', queue, -1, -1, 'WITHSCORES')
    call('ZADD', queue, (last[2] or 0) + 1, claim.id)
    call('HSET', claims, claim.id, format('{"joined":%.0f,', now) .. sub(claim.text, 2))
    lock.first = nil
    position = call('ZRANK', queue, claim.id) + 1
  end
  stay(lock, claim.id, claim.ttl)
  return position
end

local function block(lock, claim)
  local key, fields = lock.key, lock.fields
  local position = claim.queue and join(lock, claim) or 0
  if isFree(lock) then return { 'blocked', position, math.max(1, fields.turnEnds - now), now } end
  endTurn(lock, claim.id)
  local life = call('PTTL', key)
  if not isOurs(lock) then return { 'blocked', position, life < 0 and LOOK or math.min(life, LOOK), now, '', -1 } end
  return { 'blocked', position, life, now, fields.label, now - fields.since }
end

local function claimOne(lock, claim)
  if not lock.fields then return { 'format' } end
  if lock.holder == nil then
    return { 'refused', 'mode', 'the key holds data in Redis that are no text, and so no lock' }
  end
  if lock.holder == claim.id then return again(lock, claim) end
  if claim.replaces then
    if lock.holder ~= claim.replaces then return { 'refused', 'absent', 'the lease to adopt is no longer held' } end
    tell(lock, 'lost', 'adopted')
    return grant(lock, claim)
  end
  if isFree(lock) and (turnOf(lock, claim.id) or claim.id) == claim.id then return grant(lock, claim) end
  return block(lock, claim)
end

local answers = {}
for index = 1, #ARGV do
  local claim = cjson.decode(ARGV[index])
  claim.text = ARGV[index]
  answers[index] = claimOne(lockOf(KEYS[2 * index - 1], KEYS[2 * index]), claim)
end
deliver()
return answers
