-- Opens a stock, once.
-- KEYS[1]: the stock
-- KEYS[2]: its named units
-- KEYS[3]: when its holds end
-- ARGV[1]: the goods as JSON: a number, or a list of names
-- ARGV[2]: the ttl in milliseconds, empty for a stock that stays
-- Answers: { 1 or 0 for one that was open, the goods it was opened with as JSON }, or 'again' (lib/stock.lua)
-- @include lib/stock.lua
local stock, instead = load()
if instead then return instead end
if stock then
  save(stock)
  return { 0, call('HGET', STOCK, 'opening') }
end
local goods = cjson.decode(ARGV[1])
local named = type(goods) == 'table'
local ends = ARGV[2] == '' and '0' or whole(nowMs() + tonumber(ARGV[2]))
call('HSET', STOCK, 'head', (named and '3n' or '3c') .. ends, 'left', named and 0 or goods, 'held', 0, 'total', amount(goods),
  'opening', ARGV[1])
if named then
  for _, unit in ipairs(goods) do call('RPUSH', UNITS, unit) end
  keepEnd(ends, UNITS)
end
keepEnd(ends, STOCK)
return { 1, ARGV[1] }
