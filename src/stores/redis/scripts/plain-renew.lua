-- Prolongs plain locks; never creates one, never shortens one.
-- KEYS[i]: for each claim the lock, then its side key
-- ARGV[i]: the ttl and the id of claim i, with a zero byte between them
-- Answers, one for each claim: 0 lost, 1 renewed, 2 renewed and others of ours wait, -1 for an unknown format
-- @include lib/clock.lua
-- @include lib/plain.lua
local function renew(key, side, ttl, id)
  if holderOf(key) ~= id then return 0 end
  local state = loadSide(side)
  if not state then return -1 end
  if tonumber(ttl) > call('PTTL', key) then
    call('PEXPIRE', key, ttl)
    call('PEXPIRE', side, format('%.0f', KEEP + ttl))
  end
  return #state.waiters > 0 and 2 or 1
end

local answers = {}
for index = 1, #ARGV do
  local ttl, id = string.match(ARGV[index], '^(%d+)%z(.*)$')
  answers[index] = renew(KEYS[2 * index - 1], KEYS[2 * index], ttl, id)
end
return answers
