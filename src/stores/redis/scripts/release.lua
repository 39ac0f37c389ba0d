-- Ends holds or gives up places in the line, and grants what that frees to the next in line.
-- KEYS[i]: the lock of claim i
-- ARGV[i]: the id of claim i
-- Answers: 1 if all were released; else one answer for each claim: 1 released, 0 absent, -1 for an unknown format
-- @include lib/clock.lua
local answers, slow = nil, nil
-- @include lib/values.lua
for index = 1, #KEYS do
  local key, id = KEYS[index], ARGV[index]
  local value = nil
  if not values or written[key] then value = call('GET', key) else value = values[index] end
  if written then written[key] = true end
  local version, form = nil, nil
  if value then version, form = byte(value, 1, 2) end
  -- The letters 1x: an exclusive hold, nobody waits.
  if version == 49 and form == 120 and sub(value, 55, 54 + #id) == id and byte(value, 55 + #id) == 0
    and sub(value, 32, 44) + sub(value, 45, 54) > now then
    -- The key is kept for a day from the end of the hold already.
    call('SET', key, '1f' .. sub(value, 3, 18), 'KEEPTTL')
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
