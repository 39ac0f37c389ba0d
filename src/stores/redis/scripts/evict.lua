-- An operator ends holds, or asks their holders to let go; at most 50 in one call.
-- KEYS[1]: the state of the lock; its other keys are named in lib/lock.lua
-- ARGV[1]: 'evict' or 'ask'
-- ARGV[2]: the sequence number of one hold, empty for every hold
-- ARGV[3]: how many holders earlier calls left in place
-- Answers: { how many holders are left in place so far, or -1 at the end; then the labels of the holders }; only -1 for an unknown
--          format
-- @flags allow-oom
-- @include lib/lock.lua
-- @include lib/step.lua
local PORTION = 50
local lock = lockOf(KEYS[1])
if not lock then return -1 end
local ask, seq, from = ARGV[1] == 'ask', tonumber(ARGV[2]), tonumber(ARGV[3])

local function nextHolders()
  if lock.fields.id then return { soleOf(lock) } end
  local holders = {}
  if not lock.fields.holders then return holders end
  local key = partOf(lock, 'holders')
  for _, id in ipairs(call('ZRANGE', key, from, from + PORTION - 1)) do
    holders[#holders + 1] = holderOf(lock, id)
  end
  return holders
end

local labels, kept, holders = {}, from, nextHolders()
for _, holder in ipairs(holders) do
  local own = ownHold(lock, holder)
  if seq and (own or holder).seq ~= seq then
    kept = kept + 1
  else
    labels[#labels + 1] = holder.label
    tell(lock, holder, ask and 'revoked' or 'lost', ask and '' or 'evicted')
    if ask then kept = kept + 1 else drop(lock, holder) end
  end
end
local more = #holders == PORTION
if not ask and #labels > 0 then
  takeSeq(lock)
  if not more then promote(lock) end
end
save(lock)
deliver()
return { more and kept or -1, unpack(labels) }
