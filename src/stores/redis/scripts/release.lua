-- Ends holds or gives up places in the line, and grants what that frees to the next in line.
-- KEYS[i]: the lock of claim i
-- ARGV[i]: the id of claim i
-- Answers: 1 if all were released; else one answer for each claim: 1 released, 0 absent, -1 for an unknown format
-- @include lib/time.lua
-- One claim alone is the usual case, and mostly nobody waits for its key (the letters 1x): nothing else is made for it.
local alone, seen = #KEYS == 1, nil
if alone then
  local key, id = KEYS[1], ARGV[1]
  seen = call('GET', key)
  if seen and sub(seen, 1, 2) == '1x' and sub(seen, 55, 54 + #id) == id and byte(seen, 55 + #id) == 0
    and sub(seen, 32, 44) + sub(seen, 45, 54) > time[1] * 1000 + time[2] / 1000 then
    -- The key is kept for a day from the end of the hold already.
    call('SET', key, '1f' .. sub(seen, 3, 18), 'KEEPTTL')
    return 1
  end
end
-- @include lib/clock.lua
local answers, slow = nil, nil
local find = string.find
-- @include lib/values.lua
-- Holds that were granted together begin alike: what was found out about one holds for the others.
local head, free = nil, nil
for index = 1, #KEYS do
  local key, id = KEYS[index], ARGV[index]
  local value = nil
  if alone then value = seen elseif written[key] then value = call('GET', key) else value = values[index] end
  if written then written[key] = true end
  local version, form, start = nil, nil, nil
  if value then
    start = sub(value, 1, 54)
    if start ~= head then
      version, form = byte(value, 1, 2)
      -- The letters 1x: an exclusive hold, nobody waits.
      if version == 49 and form == 120 and sub(value, 32, 44) + sub(value, 45, 54) > now then
        head, free = start, '1f' .. sub(value, 3, 18)
      end
    end
  end
  if start and start == head and sub(value, 55, 54 + #id) == id and byte(value, 55 + #id) == 0 then
    call('SET', key, free, 'KEEPTTL')
    if answers then answers[index] = 1 end
  -- The letters 1q: the same, and others wait for it, all of them alive. The first of them has it from now on.
  elseif version == 49 and form == 113 and sub(value, 78, 77 + #id) == id and byte(value, 78 + #id) == 0
    and sub(value, 32, 44) + sub(value, 45, 54) > now and sub(value, 60, 72) > nowText then
    local at, left = 78 + sub(value, 73, 77), sub(value, 55, 59) - 1
    local claim = sub(value, at + 31, at + 30 + sub(value, at, at + 4))
    local digits = byte(claim, -1) - 48
    local tail, life, seq = sub(claim, 12, -2 - digits), sub(claim, 2, 11), stampText
    if life + 0 > OFFER then life = format('%010.0f', OFFER) end
    if sub(value, 3, 18) >= seq then seq = format('%016.0f', sub(value, 3, 18) + 1) end
    local text = seq .. nowText .. nowText .. life
    if left == 0 then
      text = '1x' .. text .. tail
    else
      text = '1q' .. text .. format('%05d', left) .. sub(value, 60, 72) .. format('%05d', #tail) .. tail .. sub(value, at + 31 + #claim)
    end
    call('SET', key, text, 'PX', sub(claim, -1 - digits, -2))
    local stop = find(tail, '\0', 1, true)
    local inbox = sub(tail, stop + 1, find(tail, '\0', stop + 1, true) - 1)
    local letter = { inbox, 'granted\0' .. sub(tail, 1, stop) .. format('%.0f', seq) .. '\0' .. '255\0' .. (left > 0 and '1' or '0')
      .. '\0' .. nowText .. '\0' .. format('%.0f', life) .. '\0' .. key }
    call('PUBLISH', 'holdfast:inbox:' .. letter[1], letter[2])
    if answers then answers[index] = 1 end
  else
    if not answers then
      answers = {}
      for earlier = 1, index - 1 do answers[earlier] = 1 end
    end
    -- The short way makes no function at all.
    if not slow then
      -- @include lib/step.lua
      slow = function(key, value, id)
        local state = load(value)
        if not state then return -1 end
        keyName = key
        sweep(state)
        local hold, index, at = memberOf(state, id)
        local found = true
        if hold then
          table.remove(hold[6], index)
          if #hold[6] == 0 then table.remove(state.holds, at) end
          state.changed = true
        else
          found = leave(state, id)
        end
        if found then promote(state) end
        if state.changed then save(key, state) end
        deliver()
        return found and 1 or 0
      end
    end
    answers[index] = slow(key, value, id)
  end
end
return answers or 1
