-- The fast path of a take: one order, sold at once, from a stock that has the goods.
-- KEYS[1]: the stock, known to exist
-- KEYS[2]: its named units, where it has them
-- ARGV[1]: the order
-- ARGV[2]: its buyer
-- ARGV[3]: how many; 1 of named units
-- ARGV[4]: the most that one buyer may have, left out for no limit
-- Answers: the goods as a number or as JSON of the names; nothing, without any change, when it is not the usual take
local call, STOCK, UNITS = redis.call, KEYS[1], KEYS[2]
local order, buyer, count, goods = 'o:' .. ARGV[1], ARGV[2], ARGV[3], nil
if UNITS then
  local unit = call('LINDEX', UNITS, 0)
  goods = unit and cjson.encode({ unit })
elseif call('HINCRBY', STOCK, 'left', '-' .. count) >= 0 then
  goods = count
end
local new = goods and call('HSETNX', STOCK, order, 's' .. #buyer .. ':' .. buyer .. goods) == 1
local has = new and call('HINCRBY', STOCK, 'b:' .. buyer, count)
if new and has <= tonumber(ARGV[4] or has) then
  if UNITS then call('LPOP', UNITS) end
  return tonumber(goods) or goods
end

if new then
  call('HDEL', STOCK, order)
  if call('HINCRBY', STOCK, 'b:' .. buyer, '-' .. count) == 0 then call('HDEL', STOCK, 'b:' .. buyer) end
end
if not UNITS and call('HINCRBY', STOCK, 'left', count) == 0 and call('HLEN', STOCK) == 1 then call('DEL', STOCK) end
return false
