-- Describes keys of other programs without touching them, except for `ARGV[1]` = '1'.
-- KEYS[i]: a key
-- ARGV[1]: '1' for a proof of the value of strings
-- Answers: for each key { 1 if it never expires, its type, its idle time in seconds or -1, the proof }
-- @include lib/clock.lua
-- @include lib/idle.lua
local answers = {}
for index = 1, #KEYS do
  local key = KEYS[index]
  local kind = call('TYPE', key).ok
  -- Before the value is read, because reading resets the idle time.
  local idle = idleOf(key) or -1
  local proof = ''
  if ARGV[1] == '1' and kind == 'string' then proof = redis.sha1hex(call('GET', key)) end
  answers[index] = { call('PTTL', key) == -1 and 1 or 0, kind, idle, proof }
end
return answers
