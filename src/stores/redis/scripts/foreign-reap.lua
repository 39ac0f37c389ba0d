-- Removes a key of another program that never expires, if it was idle long enough and still has the value that was seen.
-- KEYS[1]: the key
-- ARGV[1]: the least idle time in seconds; 0 for any
-- ARGV[2]: the proof of the seen value, or empty
-- Answers: 1 if it was removed, else 0
-- @include lib/clock.lua
-- @include lib/idle.lua
local key, least, proof = KEYS[1], tonumber(ARGV[1]), ARGV[2]
if call('PTTL', key) ~= -1 then return 0 end
if least > 0 then
  local idle = idleOf(key)
  if not idle or idle < least then return 0 end
end
if proof ~= '' and (call('TYPE', key).ok ~= 'string' or redis.sha1hex(call('GET', key)) ~= proof) then return 0 end
return call('UNLINK', key)
