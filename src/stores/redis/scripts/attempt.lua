-- Claims keys, each in its turn; the claims of one group, which stand together, all or none.
-- KEYS[i]: the lock of claim i
-- ARGV[i]: claim i as text: a letter (x exclusive and unnamed, joins the line when blocked; y the same, does not join;
--          f anything, with further fields), the ttl in 10 digits, then id, inbox, label, actor, meta and lock delay,
--          and for f also queue, kind, limit, weight, owner, group and the id it replaces, each ended by a zero byte
-- Answers, one for each claim: a sequence number, negative when others wait; or { 'granted', seq, contended };
--          or { 'blocked', position, retryAfterMs or -1, storeTimeMs, label, heldMs }, without the last two if nobody holds;
--          or { 'refused', reason, message }; or { 'format' } for a key in a format that this script does not know
-- @include lib/clock.lua
-- The letter f: of a free key, and of a claim with further fields.
local FREE, FULL = 102, 102
local answers, claims = {}, nil
local lastTtl, head, life = nil, nil, nil
local index = 1
while index <= #KEYS do
  local key, argument = KEYS[index], ARGV[index]
  local letter = byte(argument)
  local value, version, form = nil, nil, nil
  if letter ~= FULL then
    value = call('GET', key)
    if value then version, form = byte(value, 1, 2) end
  end
  if letter ~= FULL and (not value or (version == 49 and form == FREE)) then
    local ttl = sub(argument, 2, 11)
    if ttl ~= lastTtl then
      lastTtl, head, life = ttl, format('%013.0f', now + ttl) .. nowText, format('%.0f', ttl + KEEP)
    end
    local seq, seqText = stamp, stampText
    if value and sub(value, 3) >= stampText then
      seq = sub(value, 3) + 1
      seqText = format('%016.0f', seq)
    end
    call('SET', key, '1x' .. seqText .. head .. sub(argument, 12), 'PX', life)
    answers[index] = seq
  else
    -- Everything else is made only when it is needed: the short way makes no function at all.
    if not claims then
      -- @include lib/step.lua
      -- @include lib/claim.lua
      local function claimOne(key, argument)
        local state = load(call('GET', key))
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
            state = load(call('GET', key))
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

      claims = { one = claimOne, group = claimGroup, of = claimOf }
    end
    local group = letter == FULL and claims.of(argument).group
    if group then
      local last = index
      while last < #KEYS and byte(ARGV[last + 1]) == FULL and claims.of(ARGV[last + 1]).group == group do
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
