-- Looks at keys of other programs without using them, unless their values are asked for.
-- KEYS[i]: a key
-- ARGV[1]: '1' to prove the value of a text, too
-- Answers: for each key { 1 if it stays for ever, its type, for how many seconds nobody used it or -1, the proof }
-- @include lib/clock.lua
-- @include lib/idle.lua
local answers = {}
for index = 1, #KEYS do
  local key = KEYS[index]
  local kind = call('TYPE', key).ok
  -- Before the value is read, which is a use.
  local idle = idleOf(key) or -1
  local proof = ''
  if ARGV[1] == '1' and kind == 'string' then proof = redis.sha1hex(call('GET', key)) end
  answers[index] = { call('PTTL', key) == -1 and 1 or 0, kind, idle, proof }
end
return answers
