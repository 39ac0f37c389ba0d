-- Claims keys, each in its turn; the claims of one group, which stand together, all or none.
-- KEYS[i]: the lock of claim i
-- ARGV[i]: claim i as text: a letter (x exclusive and unnamed, joins the line when blocked; y the same, does not join;
--          f anything, with further fields), the ttl in 10 digits, then id, inbox, label, actor, meta and lock delay,
--          and for f also queue, kind, limit, weight, owner, group and the id it replaces, each ended by a zero byte
-- Answers, one for each claim: a sequence number, negative when others wait; or { 'granted', seq, contended };
--          or { 'blocked', position, retryAfterMs or -1, storeTimeMs, label, heldMs }, without the last two if nobody holds;
--          or { 'refused', reason, message }; or { 'format' } for a key in a format that this script does not know
-- @include lib/clock.lua
local answers, claims = {}, nil

local function prepare()
  -- @include lib/step.lua
  -- @include lib/claim.lua
  local function claimOne(key, argument)
    local state = load(redis.call('GET', key))
    if not state then return { 'format' } end
    keyName = key
    sweep(state)
    local answer = applyClaim(state, claimOf(argument))
    if state.changed then save(key, state) end
    deliver()
    return answer
  end

  local function claimGroup(first, last)
    local states, order = {}, {}
    for index = first, last do
      local key = KEYS[index]
      local state = states[key]
      if not state then
        state = load(redis.call('GET', key))
        states[key] = state
        order[#order + 1] = key
      end
      local answer = { 'format' }
      if state then
        keyName = key
        sweep(state)
        answer = applyClaim(state, claimOf(ARGV[index]))
      end
      if type(answer) == 'table' and answer[1] ~= 'granted' then
        -- Nothing was written yet, so forgetting the states is the roll-back.
        for other = first, last do answers[other] = { 'blocked', 0, -1, now } end
        answers[index] = answer
        letters = {}
        return
      end
      answers[index] = answer
    end
    for _, key in ipairs(order) do save(key, states[key]) end
    deliver()
  end

  return { one = claimOne, group = claimGroup, of = claimOf }
end

local index = 1
while index <= #KEYS do
  local key, argument = KEYS[index], ARGV[index]
  local letter = string.byte(argument)
  local value = letter ~= 102 and redis.call('GET', key)
  if letter ~= 102 and (not value or string.sub(value, 1, 2) == '1f') then
    local seq = stamp
    if value then seq = math.max(seq, string.sub(value, 3) + 1) end
    local ttl = string.sub(argument, 2, 11)
    redis.call('SET', key, string.format('1x%016.0f%013.0f%013.0f', seq, now + ttl, now) .. string.sub(argument, 12),
      'PX', string.format('%.0f', ttl + KEEP))
    answers[index] = seq
  else
    claims = claims or prepare()
    local group = letter == 102 and claims.of(argument).group
    if group then
      local last = index
      while last < #KEYS and string.byte(ARGV[last + 1]) == 102 and claims.of(ARGV[last + 1]).group == group do
        last = last + 1
      end
      claims.group(index, last)
      index = last
    else
      answers[index] = claims.one(key, argument)
    end
  end
  index = index + 1
end
return answers
