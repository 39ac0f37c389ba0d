-- A plain lock is a key of everybody: its value is the id of whoever holds it, and Redis itself ends it by its time to live.
-- What only Holdfast knows stands in a side key: 1p<msgpack of { seq, id, since, inbox, tail, waiters }>, where id,
-- since, inbox and tail are those of our last holder, and a waiter is { expires, id, inbox }.
-- A tail is label, actor and meta, each ended by a zero byte.
-- @include notifications.lua

-- The value of the lock, false when it is free, nothing when the key is no text and so no lock.
local function holderOf(key)
  local value = redis.pcall('GET', key)
  if type(value) == 'table' then return nil end
  return value
end

local function loadSide(side)
  local value = call('GET', side)
  if not value then return { seq = 0, id = '', since = 0, inbox = '', tail = '', waiters = {} } end
  if sub(value, 1, 2) ~= '1p' then return nil end
  local all = cmsgpack.unpack(sub(value, 3))
  return { seq = all[1], id = all[2], since = all[3], inbox = all[4], tail = all[5], waiters = all[6] }
end

-- Kept for a day after the last hold, so that an old token never comes back; longer while the hold or a waiter needs it.
local function saveSide(side, state, ttl)
  local packed = cmsgpack.pack({ state.seq, state.id, state.since, state.inbox, state.tail, state.waiters })
  call('SET', side, '1p' .. packed, 'PX', format('%.0f', KEEP + ttl))
end

local function takeSeq(state)
  state.seq = math.max(state.seq + 1, stamp)
  return state.seq
end

local function leave(state, id)
  for place, waiter in ipairs(state.waiters) do
    if waiter[2] == id then
      table.remove(state.waiters, place)
      return true
    end
  end
  return false
end

-- Our own waiters are told that the key may be free now: whoever asks first has it.
local function wake(state, key)
  for _, waiter in ipairs(state.waiters) do
    post(waiter[3], 'retry\0' .. waiter[2] .. '\0' .. key)
  end
  state.waiters = {}
end

local function tell(state, key, kind, detail)
  if state.id ~= '' then post(state.inbox, kind .. '\0' .. state.id .. '\0' .. detail .. '\0' .. key) end
end
