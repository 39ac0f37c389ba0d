-- Ends an order: sells what was held, puts back what was taken, or lets goods go that have arrived in another stock.
-- KEYS[1]: the stock
-- KEYS[2]: its named units
-- KEYS[3]: when its holds end
-- ARGV[1]: the order
-- ARGV[2]: 'confirm', 'giveBack' or 'ship'
-- Answers: 'settled', 'returned' when it was given back before, 'unknown', nothing when there is no such stock, or 'again'
-- (lib/stock.lua)
-- @flags allow-oom
-- @include lib/stock.lua
local id, deal = ARGV[1], ARGV[2]
local stock, instead = load()
if not stock then return instead end

local function settle()
  local state, buyer, text = readOrder(id)
  if deal == 'ship' and state == 'm' then
    call('HINCRBY', STOCK, 'total', -amount(cjson.decode(text)))
    call('HDEL', STOCK, 'o:' .. id)
    call('ZREM', ENDS, id)
    return 'settled'
  end
  if deal ~= 'ship' and (state == 'h' or state == 's') then
    local goods, back = cjson.decode(text), deal == 'giveBack'
    if state == 'h' then
      stock.held = stock.held - amount(goods)
      call('ZREM', ENDS, id)
    end
    if back then putBack(stock, goods, buyer) end
    call('HSET', STOCK, 'o:' .. id, back and orderText('r', buyer, amount(goods)) or orderText('s', buyer, text))
    return 'settled'
  end
  if state == 'r' then return deal == 'giveBack' and 'settled' or 'returned' end
  return 'unknown'
end

local answer = settle()
save(stock)
return answer
