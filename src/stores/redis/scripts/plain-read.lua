-- Shows plain locks as they are written, and a part of those who wait.
-- KEYS[i]: for each key the lock, then the state beside it; the other keys are named in lib/plain.lua
-- ARGV[1]: how many waiters are shown at most
-- ARGV[2]: how many were shown before
-- Answers: the time in milliseconds, then for each lock { seq, waiters, ends }, where the waiters are JSON texts;
--          with expiresInMs or -1 behind it if it is held; with heldMs, label, actor or '', meta or '' behind that if its
--          holder is ours; or -1 for an unknown format
-- @include lib/plain.lua
local most, from = tonumber(ARGV[1]), tonumber(ARGV[2])

local function show(lock)
  local fields, texts, ends, key = lock.fields, {}, {}, lock.key
  if not fields then return -1 end
  local queue, alive, claims = partOf(lock, 'queue'), partOf(lock, 'alive'), partOf(lock, 'claims')
  for place, id in ipairs(call('ZRANGE', queue, from, from + most - 1)) do
    texts[place], ends[place] = call('HGET', claims, id) or '{}', call('ZSCORE', alive, id) or '0'
  end
  if not lock.holder then return { seqOf(lock), texts, ends } end
  local life = call('PTTL', key)
  if not isOurs(lock) then return { seqOf(lock), texts, ends, life } end
  return { seqOf(lock), texts, ends, life, now - fields.since, fields.label, fields.actor or '', fields.meta or '' }
end

local answers = { now }
for index = 1, #KEYS / 2 do answers[index + 1] = show(load(KEYS[2 * index - 1], KEYS[2 * index])) end
return answers
