-- Ends holds of plain locks and tells the first waiter of ours; or gives up a position in the queue.
-- KEYS[i]: for each claim the lock, then the state beside it; the other keys are named in lib/plain.lua
-- ARGV[i]: the id of claim i
-- Answers, one for each claim: 1 released, 0 absent, -1 for an unknown format
-- @flags allow-oom
-- @include lib/plain.lua
local function release(lock, id)
  if not lock.fields then return -1 end
  if lock.holder == id then
    free(lock)
    return 1
  end
  if not firstOf(lock) or not leave(lock, id) then return 0 end
  if isFree(lock) then turnOf(lock) end
  return 1
end

local answers = {}
for index = 1, #ARGV do
  answers[index] = release(lockOf(KEYS[2 * index - 1], KEYS[2 * index]), ARGV[index])
end
deliver()
return answers
