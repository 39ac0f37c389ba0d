-- Prolongs holds and places in the line; never creates either, never shortens one.
-- KEYS[i]: the lock of claim i
-- ARGV[i]: the ttl in 10 digits and the id of claim i
-- Answers, one for each claim: 0 lost, 1 renewed, 2 renewed and others wait, -1 for an unknown format
-- @include lib/clock.lua
local answers, slow = {}, nil

local function prepare()
  -- @include lib/step.lua
  return function(key, id, ttl)
    local state = load(redis.call('GET', key))
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

for index = 1, #KEYS do
  local key, argument = KEYS[index], ARGV[index]
  local ttl, id = tonumber(string.sub(argument, 1, 10)), string.sub(argument, 11)
  local value = redis.call('GET', key)
  local form = value and string.sub(value, 1, 2)
  local expires = form == '1x' and tonumber(string.sub(value, 19, 31))
  if not value or form == '1f' then
    answers[index] = 0
  elseif expires and expires > now and string.sub(value, 45, 45 + #id) == id .. '\0' then
    if now + ttl > expires then
      redis.call('SET', key,
        string.sub(value, 1, 18) .. string.format('%013.0f', now + ttl) .. string.sub(value, 32),
        'PX', string.format('%.0f', ttl + KEEP))
    end
    answers[index] = 1
  else
    slow = slow or prepare()
    answers[index] = slow(key, id, ttl)
  end
end
return answers
