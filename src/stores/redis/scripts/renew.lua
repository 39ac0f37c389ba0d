-- Prolongs holds and places in the line; never creates either, never shortens one.
-- KEYS[i]: the lock of claim i
-- ARGV[i]: the ttl in 10 digits and the id of claim i
-- Answers: 1 if all were renewed and nobody waits; else one answer for each claim:
--          0 lost, 1 renewed, 2 renewed and others wait, -1 for an unknown format
-- @include lib/clock.lua
local answers, slow = nil, nil
-- @include lib/values.lua
local lastTtl, expires, life, span = nil, nil, nil, nil
for index = 1, #KEYS do
  local key, argument = KEYS[index], ARGV[index]
  local ttl, id = sub(argument, 1, 10), sub(argument, 11)
  local value = nil
  if not values or written[key] then value = call('GET', key) else value = values[index] end
  if written then written[key] = true end
  local version, form = nil, nil
  if value then version, form = byte(value, 1, 2) end
  local until_ = 0
  -- The letters 1x: an exclusive hold, nobody waits.
  if version == 49 and form == 120 and sub(value, 55, 54 + #id) == id and byte(value, 55 + #id) == 0 then
    until_ = sub(value, 32, 44) + sub(value, 45, 54)
  end
  if until_ > now then
    if ttl ~= lastTtl then
      lastTtl, expires, life, span = ttl, now + ttl, format('%.0f', ttl + KEEP), nowText .. ttl
    end
    if expires > until_ then
      if ttl <= HOUR and sub(value, 32, 37) == period then call('SETRANGE', key, '31', span)
      else call('SET', key, sub(value, 1, 31) .. span .. sub(value, 55), 'PX', life) end
    end
    if answers then answers[index] = 1 end
  else
    if not answers then
      answers = {}
      for earlier = 1, index - 1 do answers[earlier] = 1 end
    end
    -- The short way makes no function at all.
    if not slow then
      -- @include lib/step.lua
      slow = function(key, value, id, ttl)
        local state = load(value)
        if not state then return -1 end
        keyName = key
        sweep(state)
        local hold, index = memberOf(state, id)
        local kept = hold and hold[6][index]
        if not kept then
          local place = placeOf(state, id)
          kept = place and state.line[place]
        end
        if kept and now + ttl > kept[1] then
          kept[1] = now + ttl
          state.changed = true
        end
        if state.changed then save(key, state) end
        deliver()
        if not kept then return 0 end
        return #state.line > 0 and 2 or 1
      end
    end
    answers[index] = slow(key, value, id, tonumber(ttl))
  end
end
return answers or 1
