-- Prolongs holds and places in the line; never creates either, never shortens one.
-- KEYS[i]: the lock of claim i
-- ARGV[i]: the ttl in 10 digits and the id of claim i
-- Answers, one for each claim: 0 lost, 1 renewed, 2 renewed and others wait, -1 for an unknown format
-- @include lib/clock.lua
local answers, slow = {}, nil

local lastTtl, expiresText, life = nil, nil, nil
for index = 1, #KEYS do
  local key, argument = KEYS[index], ARGV[index]
  local ttl, id = sub(argument, 1, 10), sub(argument, 11)
  local value = call('GET', key)
  local form = value and sub(value, 1, 2)
  if not value or form == '1f' then
    answers[index] = 0
  elseif form == '1x' and sub(value, 19, 31) > nowText and sub(value, 45, 44 + #id) == id
    and byte(value, 45 + #id) == 0 then
    if ttl ~= lastTtl then
      lastTtl, expiresText, life = ttl, format('%013.0f', now + ttl), format('%.0f', ttl + KEEP)
    end
    if expiresText > sub(value, 19, 31) then
      call('SET', key, sub(value, 1, 18) .. expiresText .. sub(value, 32), 'PX', life)
    end
    answers[index] = 1
  else
    -- The short way makes no function at all.
    if not slow then
      -- @include lib/step.lua
      slow = function(key, id, ttl)
        local state = load(call('GET', key))
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
    answers[index] = slow(key, id, tonumber(ttl))
  end
end
return answers
