-- The keys in the server for one key, here `order:42`:
--   holdfast:quorum:order:42            hash: format 2, seq (the last sequence number), mode and limit of the claims, used
--                                       and reserved (how much of the limit is held, and kept for called waiters; a
--                                       writer takes all 1000000000 of a lock, a reader 1), waiting (how many), closed (until
--                                       when, after an expiry), and each claim as JSON: `holder:<id>`,
--                                       `waiter:<id>`, and `owner:<name>` for a hold that several claims of an owner share
--   holdfast:quorum-holders:order:42    sorted set: claims with this node's vote, by expiry
--   holdfast:quorum-queue:order:42      sorted set: waiters, by ticket
--   holdfast:quorum-called:order:42     sorted set: waiters that were told that the key is free, by ticket
--   holdfast:quorum-deadlines:order:42  sorted set: waiters, called or not, by the end of their positions
--   holdfast:quorum-owned:order:42      sorted set: waiters with a named owner, as owner, zero byte, id
-- Times are milliseconds. A number of more than 14 digits is text in JSON, because cjson rounds.
local LOCK = 1000000000
local COUNTS = { 'seq', 'limit', 'used', 'reserved', 'waiting', 'closed' }

local function part(state, what)
  if not state[what] then
    local _, stop = find(state.name, 'holdfast:quorum', 1, true)
    state[what] = sub(state.name, 1, stop) .. '-' .. what .. sub(state.name, stop + 1)
  end
  return state[what]
end

-- Nil for a key in another format. `id` is the claim of the question.
local function load(name, id)
  local holder, waiter = 'holder:' .. id, 'waiter:' .. id
  local raw = redis.pcall('HMGET', name, 'format', 'mode', holder, waiter, unpack(COUNTS))
  if raw.err then
    if find(raw.err, 'WRONGTYPE', 1, true) then return nil end
    error(raw.err)
  end
  if raw[1] ~= '2' and (raw[1] or call('EXISTS', name) == 1) then return nil end
  local state = { name = name, mode = raw[2] or '', known = { [holder] = raw[3], [waiter] = raw[4] }, changed = {}, life = 0 }
  local was = { mode = state.mode, isNew = not raw[1] }
  for at, count in ipairs(COUNTS) do
    was[count] = tonumber(raw[at + 4] or 0)
    state[count] = was[count]
  end
  state.was = was
  return state
end

-- A stored claim or owner as a table, or nil.
local function record(state, kind, id)
  local field = kind .. ':' .. id
  if state.known[field] == nil then state.known[field] = call('HGET', state.name, field) end
  local text = state.known[field]
  return text and cjson.decode(text) or nil
end

-- `text` false removes the field.
local function put(state, kind, id, text)
  local field = kind .. ':' .. id
  state.known[field] = text
  state.changed[field] = true
end

local function expireSet(name, life, isNew)
  if isNew then call('PEXPIRE', name, life) else call('PEXPIRE', name, life, 'GT') end
end

local function countText(count)
  return format('%.0f', count)
end

local function save(state)
  local puts, drops, was = {}, {}, state.was
  if state.used == 0 and state.waiting == 0 then
    state.mode, state.limit, state.reserved = '', 0, 0
    if state.closed <= now then state.closed = 0 end
  end
  for field in pairs(state.changed) do
    local text = state.known[field]
    if text then
      puts[#puts + 1] = field
      puts[#puts + 1] = text
    else
      drops[#drops + 1] = field
    end
  end
  for _, count in ipairs(COUNTS) do
    if state[count] == 0 then
      if was[count] ~= 0 then drops[#drops + 1] = count end
    elseif state[count] ~= was[count] then
      puts[#puts + 1] = count
      puts[#puts + 1] = countText(state[count])
    end
  end
  if state.mode == '' then
    if was.mode ~= '' then drops[#drops + 1] = 'mode' end
  elseif state.mode ~= was.mode then
    puts[#puts + 1] = 'mode'
    puts[#puts + 1] = state.mode
  end
  if #puts > 0 then
    if was.isNew then
      puts[#puts + 1] = 'format'
      puts[#puts + 1] = '2'
    end
    call('HSET', state.name, unpack(puts))
  end
  if #drops > 0 then call('HDEL', state.name, unpack(drops)) end
  if was.isNew and #puts > 0 then
    call('PEXPIRE', state.name, countText(math.max(state.life, KEEP)))
  elseif state.life > 0 then
    call('PEXPIRE', state.name, countText(state.life), 'GT')
  end
end
