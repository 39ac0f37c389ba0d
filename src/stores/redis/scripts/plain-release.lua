-- Ends holds of plain locks and wakes those of ours who wait; or takes a waiter from among them.
-- KEYS[i]: for each claim the lock, then its side key
-- ARGV[i]: the id of claim i
-- Answers, one for each claim: 1 released, 0 absent, -1 for an unknown format
-- @flags allow-oom
-- @include lib/clock.lua
-- @include lib/plain.lua
local function release(key, side, id)
  local holder, state = holderOf(key), loadSide(side)
  if not state then return -1 end
  if holder ~= id then
    if leave(state, id) then saveSide(side, state, math.max(0, call('PTTL', side) - KEEP)) end
    return 0
  end
  call('DEL', key)
  state.id, state.tail, state.inbox = '', '', ''
  wake(state, key)
  saveSide(side, state, 0)
  return 1
end

local answers = {}
for index = 1, #ARGV do
  answers[index] = release(KEYS[2 * index - 1], KEYS[2 * index], ARGV[index])
end
deliver()
return answers
