-- An operator ends the holds of claims, or asks their holders to let go.
-- KEYS[1]: the key
-- ARGV[1]: 'evict' or 'ask'
-- ARGV[2…]: the ids of the claims
-- Answers: how many of them held the key, or -1 for an unknown format
-- @flags allow-oom
-- @include lib/base.lua
-- @include lib/step.lua
local ask, found = ARGV[1] == 'ask', 0
local state = load(KEYS[1], ARGV[2] or '')
if not state then return -1 end
sweep(state, ARGV[2] or '')
for at = 2, #ARGV do
  local id = ARGV[at]
  local voter = record(state, 'holder', id)
  if voter then
    found = found + 1
    tell(state, voter.inbox, ask and 'revoked' or 'evicted', id)
    if not ask then removeVoter(state, id, voter) end
  end
end
if not ask then callQueue(state) end
save(state)
deliver()
return found
