-- True if a claim holds a lock right now; lib/lock.lua describes the keys.
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

-- True if a write or a removal may go ahead. 'held' names a claim that must hold the lock KEYS[3] right now, 'plain' one that must
-- hold the plain lock there.
local function allows(record, condition, detail)
  if condition == 'absent' then return record == nil end
  if condition == 'version' then return record ~= nil and record.version == tonumber(detail) end
  if condition == 'plain' then return call('GET', KEYS[3]) == detail end
  if condition ~= 'held' then return true end
  return isHeldBy(KEYS[3], detail)
end
