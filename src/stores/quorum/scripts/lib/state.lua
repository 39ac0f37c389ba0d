-- How the state of a key is written. The first letter is the format, the second the form:
--   2f<seq 16>                                                        nobody has the vote or waits for it
--   2x<seq 16><ballot 16><since 13><renewed 13><ttl 10><tail>         one exclusive claim without an owner has it, for ttl from
--                                                                     when it was renewed, and nobody waits
--   2s<msgpack of { seq, closed, holds, line }>                       everything else
-- A tail says who it is: id, inbox, label, actor, meta, lock delay, each ended by a zero byte; empty means none.
-- A voter is { expires, since, ballot, tail }, a hold { owner, kind, limit, weight, seq, voters },
-- a watcher { expires, joined, ticket, calledUntil, argument }, where the argument is the claim as it was sent.
local stamp, now = tonumber(stampText), tonumber(nowText)
local TAIL = '^([^%z]*)%z([^%z]*)%z([^%z]*)%z([^%z]*)%z([^%z]*)%z([^%z]*)%z()'
local MORE = '([^%z]*)%z([^%z]*)%z([^%z]*)%z([^%z]*)%z([^%z]*)%z([^%z]*)%z'

local function isOf(id, text, from)
  return sub(text, from, from + #id) == id .. '\0'
end

local function load(value)
  if not value then return { seq = 0, closed = 0, holds = {}, line = {} } end
  local form = sub(value, 1, 2)
  if form == '2f' then return { seq = tonumber(sub(value, 3)), closed = 0, holds = {}, line = {} } end
  if form == '2x' then
    local seq, expires = tonumber(sub(value, 3, 18)), sub(value, 48, 60) + sub(value, 61, 70)
    local voter = { expires, tonumber(sub(value, 35, 47)), tonumber(sub(value, 19, 34)), sub(value, 71) }
    return { seq = seq, closed = 0, holds = { { false, 'e', 0, 1, seq, { voter } } }, line = {} }
  end
  if form ~= '2s' then return nil end
  local all = cmsgpack.unpack(sub(value, 3))
  return { seq = all[1], closed = all[2], holds = all[3], line = all[4] }
end

local function write(state)
  local seq, holds = state.seq, state.holds
  if #state.line == 0 and state.closed <= now then
    if #holds == 0 then return format('2f%016.0f', seq) end
    local hold = holds[1]
    if #holds == 1 and hold[2] == 'e' and not hold[1] and #hold[6] == 1 and hold[5] == seq then
      local voter = hold[6][1]
      local ttl = voter[1] - now
      local _, _, _, _, _, delay = string.match(voter[4], TAIL)
      -- A release takes a key that lives for more than a day for one with a living vote.
      if tonumber(delay) <= KEEP then return format('2x%016.0f%016.0f%013.0f%013.0f%010.0f', seq, voter[3], voter[2], now, ttl) .. voter[4] end
    end
  end
  return '2s' .. cmsgpack.pack({ seq, state.closed, holds, state.line })
end

-- Kept for as long as anything in it matters, and the sequence number for a day.
local function lifeOf(state)
  local until_ = math.max(now + KEEP, state.closed)
  for _, hold in ipairs(state.holds) do
    for _, voter in ipairs(hold[6]) do
      local _, _, _, _, _, delay = string.match(voter[4], TAIL)
      until_ = math.max(until_, voter[1] + delay)
    end
  end
  for _, watcher in ipairs(state.line) do until_ = math.max(until_, watcher[1]) end
  return format('%.0f', until_ - now)
end

local function save(key, state)
  call('SET', key, write(state), 'PX', lifeOf(state))
end

local function claimOf(argument)
  local id, inbox, label, actor, meta, delay, after = string.match(argument, TAIL, 44)
  local claim = { id = id, inbox = inbox, ttl = tonumber(sub(argument, 34, 43)), ballot = tonumber(sub(argument, 2, 17)),
    ticket = tonumber(sub(argument, 18, 33)), tail = sub(argument, 44, after - 1),
    kind = 'e', limit = 0, weight = 1, queue = sub(argument, 1, 1) == 'x', argument = argument }
  if sub(argument, 1, 1) == 'f' then
    local queue, kind, limit, weight, owner, replaces = string.match(argument, MORE, after)
    claim.queue, claim.kind, claim.limit, claim.weight = queue == '1', kind, tonumber(limit), tonumber(weight)
    claim.replaces = replaces ~= ''
    if owner ~= '' then claim.owner = owner end
  end
  return claim
end
