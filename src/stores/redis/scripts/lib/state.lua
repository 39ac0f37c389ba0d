-- How the state of a key is written. The first letter is the format, the second the form:
--   1f<seq 16>                                        free, and the last sequence number is remembered
--   1x<seq 16><since 13><from 13><ttl 10><tail>       one exclusive hold of one unnamed owner, nobody waits;
--                                                     it ends at from + ttl, both written as they came, because to
--                                                     write a number costs more than to read two
--   1q<seq 16><since 13><from 13><ttl 10><count 5><soonest 13><length 5><tail><waiters>
--                                                     the same while others wait who want the same, all without a lock
--                                                     delay and for a day at most: how many they are, a time before which no
--                                                     place ends, how long the tail is, and the waiters one behind the
--                                                     other, each as <length of the argument 5><expires 13><joined 13><argument>
--   1s<msgpack of { seq, closed, holds, line }>       everything else
-- Whatever format comes next must be a string, too: where many keys are read in one step, Redis shows any other type as
-- nothing at all, and the lock would be granted again.
-- A tail says who holds: id, inbox, label, actor, meta, lock delay, each ended by a zero byte; empty means none.
-- A member is { expires, since, tail }, a hold { owner, kind, limit, weight, seq, members },
-- a waiter { expires, joined, argument }, where the argument is the claim as it was sent (see attempt.lua).
local TAIL = '^([^%z]*)%z([^%z]*)%z([^%z]*)%z([^%z]*)%z([^%z]*)%z([^%z]*)%z()'
local DAY, NO_DELAY = '0086400000', '\0' .. '0\0'
local MORE = '([^%z]*)%z([^%z]*)%z([^%z]*)%z([^%z]*)%z([^%z]*)%z([^%z]*)%z([^%z]*)%z'

-- A hold or a place in the line is known by its id alone.
local function isOf(id, text, from)
  return sub(text, from, from + #id) == id .. '\0'
end

local function load(value)
  if not value then return { seq = 0, closed = 0, holds = {}, line = {} } end
  local form = sub(value, 1, 2)
  if form == '1f' then return { seq = tonumber(sub(value, 3)), closed = 0, holds = {}, line = {} } end
  if form == '1x' then
    local seq = tonumber(sub(value, 3, 18))
    local member = { sub(value, 32, 44) + sub(value, 45, 54), tonumber(sub(value, 19, 31)), sub(value, 55) }
    return { seq = seq, closed = 0, holds = { { false, 'e', 0, 1, seq, { member } } }, line = {} }
  end
  if form == '1q' then
    local seq, at = tonumber(sub(value, 3, 18)), 78 + sub(value, 73, 77)
    local member = { sub(value, 32, 44) + sub(value, 45, 54), tonumber(sub(value, 19, 31)), sub(value, 78, at - 1) }
    local line = {}
    while at <= #value do
      local next = at + 31 + sub(value, at, at + 4)
      line[#line + 1] = { tonumber(sub(value, at + 5, at + 17)), tonumber(sub(value, at + 18, at + 30)), sub(value, at + 31, next - 1) }
      at = next
    end
    return { seq = seq, closed = 0, holds = { { false, 'e', 0, 1, seq, { member } } }, line = line }
  end
  if form ~= '1s' then return nil end
  local all = cmsgpack.unpack(sub(value, 3))
  return { seq = all[1], closed = all[2], holds = all[3], line = all[4] }
end

-- Whether a claim that waits can stand in the short form of a line: no further fields, no lock delay, a day at most.
local function isShort(argument)
  local digits = byte(argument, -1) - 48
  return byte(argument) == 120 and #argument < 1e5 and sub(argument, 2, 11) <= DAY
    and sub(argument, -4 - digits, -2 - digits) == NO_DELAY
end

-- Nothing if the line does not fit into the short form.
local function writeLine(line)
  local texts, soonest = {}, math.huge
  if #line > 99999 then return nil end
  for place, waiter in ipairs(line) do
    if not isShort(waiter[3]) then return nil end
    soonest = math.min(soonest, waiter[1])
    texts[place] = format('%05d%013.0f%013.0f', #waiter[3], waiter[1], waiter[2]) .. waiter[3]
  end
  return soonest, table.concat(texts)
end

local function write(state)
  local seq, holds, line = state.seq, state.holds, state.line
  if state.closed <= now then
    if #holds == 0 and #line == 0 then return format('1f%016.0f', seq) end
    local hold = holds[1]
    if #holds == 1 and hold[2] == 'e' and not hold[1] and #hold[6] == 1 and hold[5] == seq then
      local member = hold[6][1]
      local tail, left = member[3], member[1] - now
      local head = format('%016.0f%013.0f', seq, member[2]) .. nowText .. format('%010.0f', left)
      if #line == 0 then return '1x' .. head .. tail end
      if left <= KEEP and #tail < 1e5 and sub(tail, -3) == NO_DELAY then
        local soonest, texts = writeLine(line)
        if soonest then return '1q' .. head .. format('%05d%013.0f%05d', #line, soonest, #tail) .. tail .. texts end
      end
    end
  end
  return '1s' .. cmsgpack.pack({ seq, state.closed, holds, line })
end

-- Kept for as long as anything in it matters, and the sequence number for a day.
local function lifeOf(state)
  local until_ = math.max(now + KEEP, state.closed)
  for _, hold in ipairs(state.holds) do
    for _, member in ipairs(hold[6]) do
      local _, _, _, _, _, delay = string.match(member[3], TAIL)
      until_ = math.max(until_, member[1] + delay)
    end
  end
  for _, waiter in ipairs(state.line) do until_ = math.max(until_, waiter[1]) end
  return format('%.0f', until_ - now)
end

local function save(key, state)
  call('SET', key, write(state), 'PX', lifeOf(state))
end

local function claimOf(argument)
  local id, inbox, label, actor, meta, delay, after = string.match(argument, TAIL, 12)
  local claim = { id = id, inbox = inbox, ttl = tonumber(sub(argument, 2, 11)), tail = sub(argument, 12, after - 1),
    kind = 'e', limit = 0, weight = 1, queue = sub(argument, 1, 1) == 'x', argument = argument }
  if byte(argument) == 102 then
    local queue, kind, limit, weight, owner, group, replaces = string.match(argument, MORE, after)
    claim.queue, claim.kind, claim.limit, claim.weight = queue == '1', kind, tonumber(limit), tonumber(weight)
    if owner ~= '' then claim.owner = owner end
    if group ~= '' then claim.group = group end
    if replaces ~= '' then claim.replaces = replaces end
  end
  return claim
end
