-- Claims keys, each in its turn; the claims of one group, which stand together, all or none.
-- KEYS[i]: the lock of claim i
-- ARGV[i]: claim i as text: a letter (x exclusive and unnamed, joins the line when blocked; y the same, does not join;
--          f anything), the ttl in 10 digits, then id, inbox, label, actor, meta and lock delay, each ended by a zero
--          byte. An x or y ends with how long the key is kept and how many digits that has; an f goes on with queue,
--          kind, limit, weight, owner, group and the id it replaces, each ended by a zero byte.
--          If the first claim begins with X or Y, all are like it, and the others are no more than their ids
-- Answers: a sequence number, if all claims were granted with it and nobody waits; else one answer for each claim:
--          a sequence number, negative when others wait; or { 'granted', seq, contended };
--          or { 'blocked', position, retryAfterMs or -1, storeTimeMs, label, heldMs }, without the last two if nobody holds;
--          or { 'refused', reason, message }; or { 'format' } for a key in a format that this script does not know
-- @include lib/clock.lua
-- The letter f: of a free key, and of a claim with further fields.
local FREE, FULL = 102, 102
local answers, claims = nil, nil
-- A key that is free and whose last sequence number is below the stamp is written as less than this.
local freeText = '1f' .. stampText
local alike, opening, before, after, ending, life = false, nil, nil, '', nil, nil
-- The values of many keys that are read in one step, and which of those keys have been written since.
local values, written = nil, nil
local index = 1
while index <= #KEYS do
  local key, argument = KEYS[index], ARGV[index]
  local letter, who, value = 0, argument, nil
  if not alike then
    letter = byte(argument)
    if letter ~= FULL then
      local digits = byte(argument, -1) - 48
      before = '1x' .. stampText .. nowText .. nowText .. sub(argument, 2, 11)
      life = sub(argument, -1 - digits, -2)
      who = sub(argument, 12, -2 - digits)
      if letter < 97 then
        alike = true
        local stop = string.find(who, '\0', 1, true)
        opening, ending = (letter == 88 and 'x' or 'y') .. sub(argument, 2, 11), sub(argument, -1 - digits)
        who, after = sub(who, 1, stop - 1), sub(who, stop)
        values, written = call('MGET', unpack(KEYS)), {}
      end
    end
  end
  if alike and not written[key] then
    value = values[index]
    written[key] = true
  elseif letter ~= FULL then
    value = call('GET', key)
  end
  if letter ~= FULL and (not value or (byte(value, 2) == FREE and value < freeText)) then
    call('SET', key, before .. who .. after, 'PX', life)
    if answers then answers[index] = stamp end
  else
    if not answers then
      answers = {}
      for earlier = 1, index - 1 do answers[earlier] = stamp end
    end
    -- Everything else is made only when it is needed: the short way makes no function at all.
    if not claims then
      -- @include lib/step.lua
      -- @include lib/claim.lua
      local function claimOne(key, value, argument)
        local state = load(value)
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
      if alike then argument = opening .. who .. after .. ending end
      answers[index] = claims.one(key, value or call('GET', key), argument)
    end
  end
  index = index + 1
end
return answers or stamp
