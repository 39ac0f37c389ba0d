-- Whether a write or a removal may go ahead. 'held' names a claim that must hold the lock KEYS[3] at this very moment,
-- 'plain' one that must hold the plain lock there.
-- @include held.lua
local function allows(record, condition, detail)
  if condition == 'absent' then return record == nil end
  if condition == 'version' then return record ~= nil and record.version == tonumber(detail) end
  if condition == 'plain' then return call('GET', KEYS[3]) == detail end
  if condition ~= 'held' then return true end
  return isHeldBy(KEYS[3], detail)
end
