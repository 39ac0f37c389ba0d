-- An operator ends the hold of a plain lock, or only asks its holder to let go.
-- KEYS[1]: the lock
-- KEYS[2]: its side key
-- ARGV[1]: 'evict' or 'ask'
-- ARGV[2]: the sequence number of the hold that is meant, empty for whichever it is
-- Answers: { label } of the holder, { '' } for one that is not ours, {} for none, -1 for an unknown format
-- @flags allow-oom
-- @include lib/clock.lua
-- @include lib/plain.lua
local key, side, ask, seq = KEYS[1], KEYS[2], ARGV[1] == 'ask', tonumber(ARGV[2])
local holder, state = holderOf(key), loadSide(side)
if not state then return -1 end
if not holder then return {} end
local ours = state.id == holder
if seq and not (ours and state.seq == seq) then return {} end
if not ours and ask then return { '' } end
local label = ours and string.match(state.tail, '^[^%z]*') or ''
if ours then tell(state, key, ask and 'revoked' or 'lost', ask and '' or 'evicted') end
if not ask then
  call('DEL', key)
  takeSeq(state)
  state.id, state.tail, state.inbox = '', '', ''
  wake(state, key)
  saveSide(side, state, 0)
end
deliver()
return { label }
