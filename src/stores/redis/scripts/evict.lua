-- An operator ends holds, or only asks their holders to let go.
-- KEYS[1]: the lock
-- ARGV[1]: 'evict' or 'ask'
-- ARGV[2]: the sequence number of the hold that is meant, empty for every hold
-- Answers: the labels of those who held, or -1 for an unknown format
-- @include lib/clock.lua
-- @include lib/step.lua
local key, ask, seq = KEYS[1], ARGV[1] == 'ask', tonumber(ARGV[2])
local state = load(call('GET', key))
if not state then return -1 end
keyName = key
sweep(state)
local labels, others = {}, {}
for _, hold in ipairs(state.holds) do
  if seq and hold[5] ~= seq then
    others[#others + 1] = hold
  else
    for _, member in ipairs(hold[6]) do
      local _, _, label = string.match(member[3], TAIL)
      labels[#labels + 1] = label
      tell(member, ask and 'revoked' or 'lost', ask and '' or 'evicted')
    end
  end
end
if not ask and #labels > 0 then
  state.holds = others
  takeSeq(state)
  promote(state)
end
if state.changed then save(key, state) end
deliver()
return labels
