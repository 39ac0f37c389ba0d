-- Adds goods to a stock, once per order.
-- KEYS[1]: the stock
-- KEYS[2]: its named units
-- KEYS[3]: when its holds end
-- ARGV[1]: the order
-- ARGV[2]: the goods as JSON: a number, or a list of names
-- Answers: 'added'; 'unfit' when named units meet counted goods; JSON of the order's first use when that was another; nothing
-- when there is no such stock; or 'again' (lib/stock.lua)
-- @include lib/stock.lua
local stock, instead = load()
if not stock then return instead end
local goods = cjson.decode(ARGV[2])
local fits = (type(goods) == 'table') == stock.named
if fits and call('HSETNX', STOCK, 'o:' .. ARGV[1], orderText('a', '', ARGV[2])) == 1 then
  putBack(stock, goods, '')
  call('HINCRBY', STOCK, 'total', amount(goods))
end
save(stock)
return not fits and 'unfit' or otherUse(ARGV[1], 'add', '', ARGV[2]) or 'added'
