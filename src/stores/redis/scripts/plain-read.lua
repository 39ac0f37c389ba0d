-- Shows plain locks.
-- KEYS[i]: for each key the lock, then its side key
-- ARGV: none
-- Answers: for each key { seq }, if nobody holds it; { seq, expiresInMs or -1 }, if its holder is not ours;
--          { seq, expiresInMs, heldMs, tail }, if it is; -1 for an unknown format
-- @include lib/clock.lua
-- @include lib/plain.lua
local answers = {}
for index = 1, #KEYS / 2 do
  local key, side = KEYS[2 * index - 1], KEYS[2 * index]
  local holder, state = holderOf(key), loadSide(side)
  if not state then
    answers[index] = -1
  elseif not holder then
    answers[index] = { state.seq }
  elseif state.id == holder then
    answers[index] = { state.seq, call('PTTL', key), now - state.since, state.tail }
  else
    answers[index] = { state.seq, call('PTTL', key) }
  end
end
return answers
