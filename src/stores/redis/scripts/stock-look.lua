-- What is left, held, sold and on its way to another stock.
-- KEYS[1]: the stock
-- KEYS[2]: its named units
-- KEYS[3]: when its holds end
-- ARGV: nothing
-- Answers: { left, held, sold, order, goods as JSON, … }, or nothing when there is no such stock
-- @include lib/stock.lua
local stock = readStock('', '')
if not stock or stock.err then return stock end
local answer = { left(stock), stock.held, stock.sold }
for _, id in ipairs(call('ZRANGEBYSCORE', ENDS, '+inf', '+inf')) do
  local order = cjson.decode(call('HGET', STOCK, 'o:' .. id))
  answer[#answer + 1] = id
  answer[#answer + 1] = cjson.encode(order[2])
end
return answer
