-- Takes goods from a stock, all or nothing, once per order; several orders in sequence.
-- KEYS[1]: the stock
-- KEYS[2]: its named units
-- KEYS[3]: when its holds end
-- ARGV[i]: five texts for each order: the order; its buyer, empty for goods on their way to another stock; how many; the most
-- that one buyer may have, empty for no limit; how long the goods are held, in milliseconds, empty to sell at once
-- Answers: for each order the goods that were taken, as a number or as JSON of the names; 'short' and how many are left;
-- 'limit' and how many the buyer has; 'returned'; or JSON of the order's first use when that was another. Nothing when there is
-- no such stock, or 'again' (lib/stock.lua)
-- @include lib/stock.lua
local stock, instead = load()
if not stock then return instead end

-- Nothing if the order is new, or kept for this very take.
local function answerAgain(order, buyer, count)
  local other = otherUse(order, 'take', buyer, count)
  if other then return other end
  local state, _, goods = readOrder(order)
  if state and state ~= 'k' then return state == 'r' and 'returned' or tonumber(goods) or goods end
end

local function pick(count)
  if not stock.named then return count end
  if count == 1 then return cjson.encode({ call('LPOP', UNITS) }) end
  local units = call('LRANGE', UNITS, 0, count - 1)
  call('LTRIM', UNITS, count, -1)
  return cjson.encode(units)
end

local function unpick(goods)
  if not stock.named then return end
  local units = cjson.decode(goods)
  for index = #units, 1, -1 do call('LPUSH', UNITS, units[index]) end
  keepEnd(stock.ends, UNITS)
end

local function take(order, buyer, count, perBuyer, hold)
  if stock.left < count then
    local has = tonumber(buyer ~= '' and call('HGET', STOCK, 'b:' .. buyer) or 0)
    return answerAgain(order, buyer, count) or perBuyer and has + count > perBuyer and 'limit ' .. has or 'short ' .. stock.left
  end
  -- A take that must fail is undone: that is rare, and a check first would slow every take.
  local goods, state = pick(count), buyer == '' and 'm' or hold and 'h' or 's'
  local text, kept = orderText(state, buyer, goods), nil
  if call('HSETNX', STOCK, 'o:' .. order, text) == 0 then
    local answer = answerAgain(order, buyer, count)
    if answer then
      unpick(goods)
      return answer
    end
    kept = orderText('k', buyer, count)
    call('HSET', STOCK, 'o:' .. order, text)
  end
  local has = buyer == '' and count or call('HINCRBY', STOCK, 'b:' .. buyer, count)
  if perBuyer and has > perBuyer then
    unpick(goods)
    if kept then call('HSET', STOCK, 'o:' .. order, kept) else call('HDEL', STOCK, 'o:' .. order) end
    if buyer ~= '' and call('HINCRBY', STOCK, 'b:' .. buyer, -count) == 0 then call('HDEL', STOCK, 'b:' .. buyer) end
    return 'limit ' .. has - count
  end
  stock.left = stock.left - count
  if state ~= 's' then
    if state == 'h' then stock.held = stock.held + count end
    call('ZADD', ENDS, state == 'h' and whole(nowMs() + hold) or '+inf', order)
    keepEnd(stock.ends, ENDS)
  elseif kept then
    call('ZREM', ENDS, order)
  end
  return goods
end

local answers = {}
for index = 1, #ARGV, 5 do
  answers[#answers + 1] = take(ARGV[index], ARGV[index + 1], tonumber(ARGV[index + 2]), tonumber(ARGV[index + 3]),
    tonumber(ARGV[index + 4]))
end
save(stock)
return answers
