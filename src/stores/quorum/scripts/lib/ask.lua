-- @include base.lua
local answers, at, others = { stamp }, 1, nil

local function holdersOf(name)
  local _, stop = find(name, 'holdfast:quorum', 1, true)
  return sub(name, 1, stop) .. '-holders' .. sub(name, stop + 1)
end

-- The fast path: an exclusive claim without an owner on a free key, and its release. To create the functions of the general path costs
-- four times as much; the differential test holds both to the same model.
local function claimFree(name, id)
  local holder = 'holder:' .. id
  local raw = redis.pcall('HMGET', name, 'format', 'used', 'waiting', 'closed', 'seq')
  if raw.err or raw[2] or raw[3] or raw[4] then return nil end
  if not raw[1] and call('EXISTS', name) == 1 or raw[1] and raw[1] ~= '2' then return nil end
  local seqText, ballot = ARGV[at + 2], tonumber(ARGV[at + 2])
  if ballot < 1e12 or ballot > stamp + KEEP * 1000 then return nil end
  if raw[5] and raw[5] + 0 >= ballot then seqText = format('%.0f', raw[5] + 1) end
  local holders = holdersOf(name)
  local life = format('%.0f', ARGV[at + 4] + ARGV[at + 9] + KEEP)
  call('HSET', name, 'format', '2', 'seq', seqText, 'mode', 'exclusive', 'used', '1000000000', holder, '{"seq":"' .. seqText ..
    '","ballot":"' .. ARGV[at + 2] .. '","ticket":"' .. ARGV[at + 3] .. '","since":' .. format('%.0f', now) .. ',' .. sub(ARGV[at + 12], 2))
  call('ZADD', holders, format('%.0f', now + ARGV[at + 4]), id)
  call('PEXPIRE', holders, life)
  if raw[1] then call('PEXPIRE', name, life, 'GT') else call('PEXPIRE', name, life) end
  return tonumber(seqText)
end

local function releaseLast(name, id)
  local holder = 'holder:' .. id
  local raw = redis.pcall('HMGET', name, 'format', 'waiting', 'closed', holder)
  if raw.err or raw[1] ~= '2' or raw[2] or raw[3] or not raw[4] then return nil end
  if not find(raw[4], '"mode":"exclusive"', 1, true) or find(raw[4], '"owner":', 1, true) then return nil end
  local holders = holdersOf(name)
  local ends = call('ZSCORE', holders, id)
  if not ends or ends + 0 <= now then return nil end
  call('ZREM', holders, id)
  call('HDEL', name, holder, 'mode', 'used')
  return 1
end

for index = 1, #KEYS do
  local name, kind, id, answer = KEYS[index], ARGV[at], ARGV[at + 1], nil
  if kind == 'claim' and ARGV[at + 5] == 'exclusive' and ARGV[at + 8] == '' and ARGV[at + 11] == '0' then
    answer = claimFree(name, id)
  elseif kind == 'release' and ARGV[at + 2] == '9007199254740991' then
    answer = releaseLast(name, id)
  end
  if not answer then
    others = others or (function()
      -- @include step.lua
      -- @include answer.lua
      return answerQuestion
    end)()
    answer = others(name, kind, id, at)
  end
  answers[index + 1] = answer
  at = at + ((kind == 'claim' or kind == 'join') and 13 or kind == 'renew' and 5 or 3)
end
return answers
