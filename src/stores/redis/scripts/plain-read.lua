-- Shows plain locks.
-- KEYS[i]: for each key the lock, then the state beside it
-- ARGV: none
-- Answers: for each key { seq }, if nobody holds it; { seq, expiresInMs or -1 }, if its holder is not ours;
--          { seq, expiresInMs, heldMs, label, actor or '', meta or '' }, if it is; -1 for an unknown format
-- @include lib/plain.lua
local function show(lock)
  local fields = lock.fields
  if not fields then return -1 end
  if not lock.holder then return { seqOf(lock) } end
  local life = call('PTTL', lock.key)
  if not isOurs(lock) then return { seqOf(lock), life } end
  return { seqOf(lock), life, now - fields.since, fields.label, fields.actor or '', fields.meta or '' }
end

local answers = {}
for index = 1, #KEYS / 2 do answers[index] = show(load(KEYS[2 * index - 1], KEYS[2 * index])) end
return answers
