-- Adds goods to a stock, once per order.
-- KEYS[1]: the stock
-- KEYS[2]: its named units
-- KEYS[3]: when its holds end
-- ARGV[1]: the order
-- ARGV[2]: the goods as JSON: a number, or a list of names
-- Answers: 'added', 'unfit' when named units meet counted goods, or nothing when there is no such stock
-- @include lib/stock.lua
local stock = readStock(ARGV[1], '')
if not stock or stock.err then return stock end
local goods = cjson.decode(ARGV[2])
if (type(goods) == 'table') ~= stock.named then return 'unfit' end
if not stock.order then
  putBack(stock, goods, nil)
  call('HSET', STOCK, 'o:' .. ARGV[1], orderText('added', 0, nil))
end
return 'added'
