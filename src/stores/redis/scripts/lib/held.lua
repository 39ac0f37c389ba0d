-- Whether a claim holds a lock at this very moment; lib/lock.lua says how it is kept.
-- @include clock.lua
local function isHeldBy(key, id)
  local fields = redis.pcall('HMGET', key, 'format', 'id', 'expires', 'holders')
  if fields[1] ~= '2' then return false end
  if fields[2] then return fields[2] == id and tonumber(fields[3]) > now end
  if not fields[4] then return false end
  local head, tail = string.match(key, '^(.-holdfast:)state(:.*)$')
  key = head .. 'holders' .. tail
  local expires = call('ZSCORE', key, id)
  return expires and tonumber(expires) > now
end
