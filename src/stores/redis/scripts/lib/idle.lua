-- For how many seconds nobody used a key; nothing where the server does not tell. Keys with the same small whole number share
-- one value, whose age says nothing of any of them: it is known by the highest count of references.
local function idleOf(key)
  local references = redis.pcall('OBJECT', 'REFCOUNT', key)
  local idle = redis.pcall('OBJECT', 'IDLETIME', key)
  if type(references) ~= 'number' or references == 2147483647 or type(idle) ~= 'number' then return nil end
  -- The server stamps objects with a clock that ticks once a second, so a value set a moment ago can look a second old.
  return math.max(0, idle - 1)
end
