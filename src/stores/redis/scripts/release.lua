-- Ends holds or gives up places in the line, and grants what that frees to the next in line.
-- KEYS[i]: the lock of claim i
-- ARGV[i]: the id of claim i
-- Answers, one for each claim: 1 released, 0 absent, -1 for an unknown format
-- @include lib/clock.lua
local answers, slow = {}, nil

for index = 1, #KEYS do
  local key, id = KEYS[index], ARGV[index]
  local value = call('GET', key)
  local form = value and sub(value, 1, 2)
  if not value or form == '1f' then
    answers[index] = 0
  elseif form == '1x' and sub(value, 19, 31) > nowText and sub(value, 45, 44 + #id) == id
    and byte(value, 45 + #id) == 0 then
    call('SET', key, '1f' .. sub(value, 3, 18), 'PX', '86400000')
    answers[index] = 1
  else
    -- The short way makes no function at all.
    if not slow then
      -- @include lib/step.lua
      slow = function(key, id)
        local state = load(call('GET', key))
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
    answers[index] = slow(key, id)
  end
end
return answers
