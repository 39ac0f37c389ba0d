-- Ends an order: sells what was held, puts back what was taken, or lets goods go that have arrived in another stock.
-- KEYS[1]: the stock
-- KEYS[2]: its named units
-- KEYS[3]: when its holds end
-- ARGV[1]: the order
-- ARGV[2]: 'confirm', 'giveBack' or 'ship'
-- Answers: 'settled', 'returned' when it was given back before, 'unknown', or nothing when there is no such stock
-- @include lib/stock.lua
local id, deal = ARGV[1], ARGV[2]
local stock = readStock(id, '')
if not stock or stock.err then return stock end
if not stock.order then return 'unknown' end
local state, goods, buyer = stock.order[1], stock.order[2], stock.order[3]
local function set(next, what) call('HSET', STOCK, 'o:' .. id, orderText(next, what, buyer)) end

if deal == 'ship' and state == 'moving' then
  call('HDEL', STOCK, 'o:' .. id)
  call('ZREM', ENDS, id)
  return 'settled'
end
if deal == 'confirm' and (state == 'held' or state == 'sold') then
  if state == 'held' then
    call('HINCRBY', STOCK, 'held', -amount(goods))
    call('HINCRBY', STOCK, 'sold', amount(goods))
    call('ZREM', ENDS, id)
    set('sold', goods)
  end
  return 'settled'
end
if deal == 'giveBack' and (state == 'held' or state == 'sold') then
  call('HINCRBY', STOCK, state, -amount(goods))
  if state == 'held' then call('ZREM', ENDS, id) end
  putBack(stock, goods, buyer)
  set('returned', 0)
  return 'settled'
end
if state == 'returned' then return deal == 'giveBack' and 'settled' or 'returned' end
return 'unknown'
