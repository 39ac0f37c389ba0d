-- Removes a key of another program that has no end, if nobody has used it for long enough and it is what was seen.
-- KEYS[1]: the key
-- ARGV[1]: for how many seconds nobody may have used it; 0 whatever its age
-- ARGV[2]: the proof of the value that was seen, or empty
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
