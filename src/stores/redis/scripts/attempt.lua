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
-- @include lib/stamp.lua
-- One claim alone is the usual case, and mostly its key is free: nothing else is made for it.
local alone, seen = #KEYS == 1, nil
if alone and byte(ARGV[1]) ~= 102 then
  local key, argument = KEYS[1], ARGV[1]
  seen = call('GET', key)
  if not seen or (sub(seen, 1, 2) == '1f' and sub(seen, 3) < stampText) then
    local digits = byte(argument, -1) - 48
    local text = '1x' .. stampText .. nowText .. nowText .. sub(argument, 2, -2 - digits)
    if seen and sub(seen, 3, 8) == sub(nowText, 1, 6) and sub(argument, 2, 11) <= '0003600000' then
      call('SET', key, text, 'KEEPTTL')
    else
      call('SET', key, text, 'PX', sub(argument, -1 - digits, -2))
    end
    return tonumber(stampText)
  end
end
-- @include lib/clock.lua
-- The letter f: of a free key, and of a claim with further fields.
local FREE, FULL = 102, 102
local find, DAY, NO_DELAY = string.find, '0086400000', '\0' .. '0\0'
local answers, claims = nil, nil
-- A key that is free and whose last sequence number is below the stamp is written as less than this.
local freeText = '1f' .. stampText
local alike, opening, before, after, ending, life, short = false, nil, nil, '', nil, nil, nil
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
      local ttl = sub(argument, 2, 11)
      short = ttl <= HOUR
      before = '1x' .. stampText .. nowText .. nowText .. ttl
      life = sub(argument, -1 - digits, -2)
      who = sub(argument, 12, -2 - digits)
      if letter < 97 then
        alike = true
        local stop = string.find(who, '\0', 1, true)
        opening, ending = (letter == 88 and 'x' or 'y') .. sub(argument, 2, 11), sub(argument, -1 - digits)
        who, after = sub(who, 1, stop - 1), sub(who, stop)
        values, written = call('MGET', unpack(KEYS)), {}
        -- As long as every key is free, nothing else need be looked at.
        while index <= #KEYS do
          key, value = KEYS[index], values[index]
          if written[key] or (value and not (byte(value, 2) == FREE and value < freeText)) then break end
          written[key] = true
          if index > 1 then who = ARGV[index] end
          if short and value and sub(value, 3, 8) == period then
            call('SET', key, before .. who .. after, 'KEEPTTL')
          else
            call('SET', key, before .. who .. after, 'PX', life)
          end
          index = index + 1
        end
        if index > #KEYS then break end
        if index > 1 then who = ARGV[index] end
        argument = who
      end
    end
  end
  if alike and not written[key] then
    value = values[index]
    written[key] = true
  elseif letter ~= FULL then
    if alone then value = seen else value = call('GET', key) end
  end
  if letter ~= FULL and (not value or (byte(value, 2) == FREE and value < freeText)) then
    if short and value and sub(value, 3, 8) == period then
      call('SET', key, before .. who .. after, 'KEEPTTL')
    else
      call('SET', key, before .. who .. after, 'PX', life)
    end
    if answers then answers[index] = stamp end
  else
    if not answers then
      answers = {}
      for earlier = 1, index - 1 do answers[earlier] = stamp end
    end
    -- Behind an exclusive hold, and behind others like itself, a claim is put at the end of the line as it came, or turned away.
    local whole, form, answer = nil, nil, nil
    if letter ~= FULL and byte(value) == 49 then
      form = byte(value, 2)
      whole = alike and opening .. who .. after .. ending or argument
    end
    if (form == 113 or (form == 120 and sub(value, -3) == NO_DELAY and sub(value, 45, 54) <= DAY and #value < 1e5))
      and #whole < 1e5 and sub(whole, 2, 11) <= DAY then
      local digits, ends = byte(whole, -1) - 48, sub(value, 32, 44) + sub(value, 45, 54)
      local first = form == 113 and 78 or 55
      if ends > now and sub(whole, -4 - digits, -2 - digits) == NO_DELAY
        and (form == 120 or (sub(value, 60, 72) > nowText and sub(value, 55, 59) < '99999'))
        and not find(value, sub(whole, 12, find(whole, '\0', 12, true)), first, true) then
        local stop = find(value, '\0', first, true)
        local label = find(value, '\0', stop + 1, true)
        local place, expires = 0, format('%013.0f', now + sub(whole, 2, 11))
        local soonest, tail = expires, nil
        if form == 113 then
          local at = 78 + sub(value, 73, 77)
          while at <= #value do
            ends = math.min(ends, sub(value, at + 5, at + 17))
            at = at + 31 + sub(value, at, at + 4)
          end
          place, tail = sub(value, 55, 59) + 0, sub(value, 73)
          if sub(value, 60, 72) < soonest then soonest = sub(value, 60, 72) end
        else
          tail = format('%05d', #value - 54) .. sub(value, 55)
        end
        if byte(whole) == 120 then
          place = place + 1
          call('SET', key, '1q' .. sub(value, 3, 54) .. format('%05d', place) .. soonest .. tail .. format('%05d', #whole)
            .. expires .. nowText .. whole, 'PX', sub(whole, -1 - digits, -2))
          if place == 1 then
            local letter = { sub(value, stop + 1, label - 1), 'contended\0' .. sub(value, first, stop) .. '\0' .. key }
            call('PUBLISH', 'holdfast:inbox:' .. letter[1], letter[2])
          end
        else
          place = 0
        end
        answer = { 'blocked', place, ends - now, now, sub(value, label + 1, find(value, '\0', label + 1, true) - 1),
          now - sub(value, 19, 31) }
      end
    end
    -- Everything else is made only when it is needed: the short way makes no function at all.
    if not answer and not claims then
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
    if answer then
      answers[index] = answer
    elseif group then
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
