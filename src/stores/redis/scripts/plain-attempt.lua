-- Claims plain locks, each in its turn.
-- KEYS[i]: for each claim the lock, then its side key
-- ARGV[i]: claim i as fields that are ended by zero bytes: ttl, id, inbox, 1 if it waits when blocked, the id it
--          replaces, then the tail
-- Answers, one for each claim: a sequence number, negative when others of ours wait;
--          or { 'blocked', retryAfterMs or -1, storeTimeMs, label, heldMs }, without the last two if the holder is not ours;
--          or { 'absent' } for an adoption of what is not held; or { 'strange' } for a key that is no lock;
--          or { 'format' } for a side key in a format that this script does not know
-- @include lib/clock.lua
-- @include lib/plain.lua
-- Whoever is not ours tells nobody when it lets go.
local LOOK = 100

local function grant(key, side, state, claim)
  leave(state, claim.id)
  call('SET', key, claim.id, 'PX', claim.ttlText)
  takeSeq(state)
  state.id, state.since, state.inbox, state.tail = claim.id, now, claim.inbox, claim.tail
  saveSide(side, state, claim.ttl)
  return #state.waiters > 0 and -state.seq or state.seq
end

local function again(key, side, state, claim)
  if state.id ~= claim.id then return grant(key, side, state, claim) end
  if claim.ttl > call('PTTL', key) then
    call('PEXPIRE', key, claim.ttlText)
    call('PEXPIRE', side, format('%.0f', KEEP + claim.ttl))
  end
  return #state.waiters > 0 and -state.seq or state.seq
end

local function wait(key, side, state, claim)
  local waiters, known = {}, false
  for _, waiter in ipairs(state.waiters) do
    if waiter[2] == claim.id and waiter[1] > now + claim.ttl / 2 then known = true end
    if waiter[1] > now and (waiter[2] ~= claim.id or known) then waiters[#waiters + 1] = waiter end
  end
  if known then return end
  if #waiters == 0 then tell(state, key, 'contended', '') end
  waiters[#waiters + 1] = { now + claim.ttl, claim.id, claim.inbox }
  state.waiters = waiters
  saveSide(side, state, math.max(claim.ttl, call('PTTL', key)))
end

local function block(key, side, state, claim, holder)
  if claim.queue then wait(key, side, state, claim) end
  local life = call('PTTL', key)
  if state.id ~= holder then return { 'blocked', life < 0 and LOOK or math.min(life, LOOK), now } end
  return { 'blocked', life, now, string.match(state.tail, '^[^%z]*'), now - state.since }
end

local function claimOne(key, side, claim)
  local holder, state = holderOf(key), loadSide(side)
  if holder == nil then return { 'strange' } end
  if not state then return { 'format' } end
  if holder == claim.id then return again(key, side, state, claim) end
  if claim.replaces ~= '' then
    if holder ~= claim.replaces then return { 'absent' } end
    tell(state, key, 'lost', 'adopted')
    return grant(key, side, state, claim)
  end
  if not holder then return grant(key, side, state, claim) end
  return block(key, side, state, claim, holder)
end

local answers = {}
for index = 1, #ARGV do
  local ttl, id, inbox, queue, replaces, tail =
    string.match(ARGV[index], '^(%d+)%z([^%z]*)%z([^%z]*)%z([^%z]*)%z([^%z]*)%z(.*)$')
  local claim = { ttlText = ttl, ttl = tonumber(ttl), id = id, inbox = inbox, queue = queue == '1', replaces = replaces,
    tail = tail }
  answers[index] = claimOne(KEYS[2 * index - 1], KEYS[2 * index], claim)
end
deliver()
return answers
