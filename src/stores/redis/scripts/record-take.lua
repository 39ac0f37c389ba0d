-- Takes from a record, all or nothing: from a whole number, or from the front of a JSON list of strings.
-- KEYS[1]: the record
-- KEYS[2]: its version
-- ARGV[1]: how many
-- Answers: { left, version, the taken units as JSON }, or { left } when there are fewer, or nothing for an absent record
-- @include lib/clock.lua
-- @include lib/record.lua
local UNFIT = 'HOLDFAST_STOCK only a whole number or a list of texts can be taken from'
local record = readRecord()
if not record then return false end
if record.err then return record end
local count, text = tonumber(ARGV[1]), record.text

-- The end of the string that begins with the quote at `from`. Lists are cut, not decoded, because they may be long.
local function endOf(from)
  local at = from + 1
  while true do
    local stop = string.find(text, '["\\]', at)
    if not stop then return nil end
    if byte(text, stop) == 34 then return stop end
    at = stop + 2
  end
end

-- The begin and end of the unit after position `at`, the sign behind it, and the position after that.
local function unitAfter(at)
  local from = string.match(text, '^%s*()"', at)
  local stop = from and endOf(from)
  if not stop then return nil end
  local sign, next_ = string.match(text, '^%s*([,%]])()', stop + 1)
  return from, stop, sign, next_
end

local function countUnits()
  local at, units = string.match(text, '^%s*%[()'), 0
  if string.match(text, '^%s*%]%s*$', at) then return 0 end
  while true do
    local from, _, sign, next_ = unitAfter(at)
    if not from or not sign then return nil end
    units, at = units + 1, next_
    if sign == ']' then return string.match(text, '^%s*$', at) and units end
  end
end

local isList = string.match(text, '^%s*%[') ~= nil
local available = tonumber(string.match(text, '^%s*(-?%d+)%s*$'))
if isList then
  available = record.units or countUnits()
elseif available and math.abs(available) > 9007199254740991 then
  available = nil
end
if not available then return redis.error_reply(UNFIT) end
if available < count then return { available } end

local version = math.max(record.version + 1, stamp)
local left, taken = available - count, '[]'
if isList then
  local at, units = string.match(text, '^%s*%[()'), {}
  for unit = 1, count do
    local from, stop, _, next_ = unitAfter(at)
    units[unit], at = sub(text, from, stop), next_
  end
  taken = '[' .. table.concat(units, ',') .. ']'
  text = left == 0 and '[]' or '[' .. sub(text, at)
else
  text = format('%.0f', left)
end
writeRecord({ version = version, expires = record.expires, units = isList and left or nil, text = text })
return { left, version, taken }
