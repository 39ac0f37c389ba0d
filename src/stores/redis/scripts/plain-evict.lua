-- An operator ends the hold of a plain lock, or only asks its holder to let go.
-- KEYS[1]: the lock
-- KEYS[2]: the state beside it; the other keys are named in lib/plain.lua
-- ARGV[1]: 'evict' or 'ask'
-- ARGV[2]: the sequence number of the hold that is meant, empty for any
-- Answers: { label } of the holder, { '' } for one that is not ours, {} for none, -1 for an unknown format
-- @flags allow-oom
-- @include lib/plain.lua
local lock, ask, seq = lockOf(KEYS[1], KEYS[2]), ARGV[1] == 'ask', tonumber(ARGV[2])
if not lock.fields then return -1 end
if not lock.holder then return {} end
local ours, label, side = isOurs(lock), '', lock.side
if seq and not (ours and seqOf(lock) == seq) then return {} end
if not ours and ask then return { '' } end
if ours then
  label = lock.fields.label
  tell(lock, ask and 'revoked' or 'lost', ask and '' or 'evicted')
end
if not ask then
  call('HSET', side, 'format', FORMAT, 'seq', nextSeq(lock))
  keep(lock, 0)
  free(lock)
end
deliver()
return { label }
