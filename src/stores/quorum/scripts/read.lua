-- Shows keys as they are written, without counting the time that passed since.
-- KEYS[i]: a key
-- ARGV: none
-- Answers: the time in microseconds, then for each key { seq, closed, holds, line }, or -1 for an unknown format
-- @include lib/base.lua
-- @include lib/clock.lua
-- @include lib/state.lua
local answers = { stamp }
for index = 1, #KEYS do
  local state = load(call('GET', KEYS[index]))
  answers[index + 1] = state and { state.seq, state.closed, state.holds, state.line } or -1
end
return answers
