-- Shows the goods that are left, held, sold and on their way to another stock.
-- KEYS[1]: the stock
-- KEYS[2]: its named units
-- KEYS[3]: when its holds end
-- ARGV: nothing
-- Answers: { left, held, sold, order, goods as JSON, … }, nothing when there is no such stock, or 'again' (lib/stock.lua)
-- @include lib/stock.lua
local stock, instead = load()
if not stock then return instead end
save(stock)
local sold = call('HGET', STOCK, 'total') - stock.left - stock.held
local answer = { stock.left, stock.held, 0 }
for _, id in ipairs(call('ZRANGEBYSCORE', ENDS, '+inf', '+inf')) do
  local _, _, goods = readOrder(id)
  sold = sold - amount(cjson.decode(goods))
  answer[#answer + 1] = id
  answer[#answer + 1] = goods
end
answer[3] = sold
return answer
