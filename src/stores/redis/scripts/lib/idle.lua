-- The idle time of a key in seconds, or nothing if the server does not tell. Keys with the same small whole number share one value,
-- whose idle time proves nothing: it has the highest reference count.
local function idleOf(key)
  local references = redis.pcall('OBJECT', 'REFCOUNT', key)
  local idle = redis.pcall('OBJECT', 'IDLETIME', key)
  if type(references) ~= 'number' or references == 2147483647 or type(idle) ~= 'number' then return nil end
  -- The server stamps objects with a clock that ticks once a second, so a value set a moment ago can look a second old.
  return math.max(0, idle - 1)
end
