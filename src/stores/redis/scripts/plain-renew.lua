-- Prolongs plain locks, and the time for which waiters are told of their end; never creates either, never shortens one.
-- KEYS[i]: for each claim the lock, then its side key
-- ARGV[i]: the ttl and the id of claim i, with a zero byte between them
-- Answers, one for each claim: 0 lost, 1 renewed, 2 renewed and others of ours wait,
--          { 0, storeTimeMs } for a waiter, -1 for an unknown format
-- @flags allow-oom
-- @include lib/clock.lua
-- @include lib/plain.lua
local function renewWaiter(key, side, state, ttl, id)
  for _, waiter in ipairs(state.waiters) do
    if waiter[2] == id then
      waiter[1] = math.max(waiter[1], now + ttl)
      saveSide(side, state, math.max(ttl, call('PTTL', key)))
      return { 0, now }
    end
  end
  return 0
end

local function renew(key, side, ttl, id)
  local holder, state = holderOf(key), loadSide(side)
  if not state then return holder == id and -1 or 0 end
  if holder ~= id then return renewWaiter(key, side, state, tonumber(ttl), id) end
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
