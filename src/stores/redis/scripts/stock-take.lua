-- Takes goods from a stock, all or nothing, once per order; several orders in their turn.
-- KEYS[1]: the stock
-- KEYS[2]: its named units
-- KEYS[3]: when its holds end
-- ARGV[i]: five texts for each order: the order; its buyer, empty for goods on their way to another stock; how many; the most
-- that one buyer may have, empty for no limit; how long the goods are held, in milliseconds, empty to sell at once
-- Answers: for each order { 'taken', goods as JSON }, { 'short', left }, { 'limit', how many the buyer has } or { 'returned' };
-- nothing when there is no such stock
-- @include lib/stock.lua
local function take(order, buyer, count, perBuyer, hold)
  local stock = readStock(order, buyer)
  if not stock or stock.err then return stock end
  if stock.order then
    if stock.order[1] == 'returned' then return { 'returned' } end
    return { 'taken', cjson.encode(stock.order[2]) }
  end
  if perBuyer and stock.has + count > perBuyer then return { 'limit', stock.has } end
  local available = left(stock)
  if available < count then return { 'short', available } end

  local goods = count
  if stock.named then
    goods = call('LRANGE', UNITS, 0, count - 1)
    call('LTRIM', UNITS, count, -1)
  end
  local state = buyer == '' and 'moving' or hold and 'held' or 'sold'
  local text = orderText(state, goods, buyer ~= '' and buyer or nil)
  local fields = { 'o:' .. order, text }
  local function set(name, value)
    fields[#fields + 1] = name
    fields[#fields + 1] = whole(value)
  end
  if not stock.named then set('left', available - count) end
  if buyer ~= '' then set('b:' .. buyer, stock.has + count) end
  if state == 'sold' then
    set('sold', stock.sold + count)
  else
    if state == 'held' then set('held', stock.held + count) end
    call('ZADD', ENDS, state == 'held' and whole(nowMs() + hold) or '+inf', order)
    keepEnd(stock, ENDS)
  end
  call('HSET', STOCK, unpack(fields))
  return { 'taken', cjson.encode(goods) }
end

local answers = {}
for index = 1, #ARGV, 5 do
  local order, buyer, count = ARGV[index], ARGV[index + 1], tonumber(ARGV[index + 2])
  local answer = take(order, buyer, count, tonumber(ARGV[index + 3]), tonumber(ARGV[index + 4]))
  if not answer or answer.err then return answer end
  answers[#answers + 1] = answer
end
return answers
