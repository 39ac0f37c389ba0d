-- An operator ends the holds of claims, or only asks their holders to let go.
-- KEYS[1]: the key
-- ARGV[1]: 'evict' or 'ask'
-- ARGV[2]: the ids of the claims, each ended by a zero byte
-- Answers: how many of them held the key, or -1 for an unknown format
-- @include lib/base.lua
-- @include lib/clock.lua
-- @include lib/step.lua
local key, ask, found = KEYS[1], ARGV[1] == 'ask', 0
local state = load(call('GET', key))
if not state then return -1 end
keyName = key
sweep(state)
for id in string.gmatch(ARGV[2], '([^%z]*)%z') do
  local hold, index, at = voterOf(state, id)
  if hold then
    found = found + 1
    tellVoter(hold[6][index], ask and 'revoked' or 'evicted')
    if not ask then remove(state, hold, index, at) end
  end
end
if not ask then callLine(state) end
if state.changed then save(key, state) end
deliver()
return found
