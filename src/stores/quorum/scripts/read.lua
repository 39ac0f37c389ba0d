-- Shows keys as they are written, without counting the time that passed since.
-- KEYS[i]: a key
-- ARGV: none
-- Answers: the time in microseconds, then for each key { hash, holders, queue, called, deadlines }: the hash as fields and values, the
--          sorted sets as members and scores; or -1 for an unknown format
-- @include lib/base.lua
-- @include lib/clock.lua
-- @include lib/state.lua
local answers = { stamp }
for index = 1, #KEYS do
  local state = load(KEYS[index], '')
  local answer = -1
  if state then
    answer = { call('HGETALL', state.name) }
    for _, what in ipairs({ 'holders', 'queue', 'called', 'deadlines' }) do
      answer[#answer + 1] = call('ZRANGE', part(state, what), 0, -1, 'WITHSCORES')
    end
  end
  answers[index + 1] = answer
end
return answers
