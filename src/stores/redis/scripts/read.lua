-- Shows locks as they were written, expired claims included, with a part of their holders and waiters.
-- KEYS[i]: the state of a lock; its other keys are named in lib/lock.lua
-- ARGV[1]: how many holders and how many waiters to show at most
-- ARGV[2]: how many of each earlier calls have shown
-- Answers: the time in microseconds, then for each lock { its fields, holders, ends, waiters, ends, owners }, or -1 for an unknown
--          format. Holders and waiters are JSON texts, owners the names and texts of the owners of these holders
-- @include lib/lock.lua
local most, from = tonumber(ARGV[1]), tonumber(ARGV[2])

local function holdersOf(lock)
  local texts, ends, owners = {}, {}, {}
  if not lock.fields.holders then return texts, ends, owners end
  local key, claims, names = partOf(lock, 'holders'), partOf(lock, 'claims'), partOf(lock, 'owners')
  local flat = call('ZRANGE', key, from, from + most - 1, 'WITHSCORES')
  for at = 1, #flat, 2 do
    local text = call('HGET', claims, flat[at]) or '{}'
    texts[#texts + 1], ends[#ends + 1] = text, flat[at + 1]
    local owner = lock.fields.owners and cjson.decode(text).owner
    local own = owner and call('HGET', names, owner)
    if own then
      owners[#owners + 1] = owner
      owners[#owners + 1] = own
    end
  end
  return texts, ends, owners
end

local function waitersOf(lock)
  local texts, ends = {}, {}
  if not lock.fields.waiting then return texts, ends end
  local key, alive, claims = partOf(lock, 'queue'), partOf(lock, 'alive'), partOf(lock, 'claims')
  for _, id in ipairs(call('ZRANGE', key, from, from + most - 1)) do
    texts[#texts + 1], ends[#ends + 1] = call('HGET', claims, id) or '{}', call('ZSCORE', alive, id) or '0'
  end
  return texts, ends
end

local function show(key)
  local lock = load(key)
  if not lock then return -1 end
  local fields = {}
  for field, value in pairs(lock.fields) do
    if value then
      fields[#fields + 1] = field
      fields[#fields + 1] = value
    end
  end
  local holders, holdersEnds, owners = holdersOf(lock)
  local waiters, waitersEnds = waitersOf(lock)
  return { fields, holders, holdersEnds, waiters, waitersEnds, owners }
end

local answers = { stamp }
for index = 1, #KEYS do answers[index + 1] = show(KEYS[index]) end
return answers
