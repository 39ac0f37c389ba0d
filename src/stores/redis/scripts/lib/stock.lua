-- A stock is a hash: format, named (1 for units with names), left (counted goods), held, sold, opening, until (0 or when all of
-- it ends), b:<buyer> = how many the buyer has, o:<order> = [state, goods, buyer]. Named units are a list. A sorted set has
-- the orders that are held, by the time they end, and those on their way to another stock, at infinity.
local call, format = redis.call, string.format
local STOCK, UNITS, ENDS = KEYS[1], KEYS[2], KEYS[3]

local function whole(number) return format('%.0f', number) end

local function amount(goods) return type(goods) == 'table' and #goods or goods end

local function nowMs()
  local time = call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- The list and the sorted set come and go; they must end with the hash.
local function keepEnd(stock, key)
  if stock.ends ~= '0' then call('PEXPIREAT', key, stock.ends) end
end

local function fetch(order, buyer)
  local fields = call('HMGET', STOCK, 'format', 'named', 'left', 'held', 'sold', 'until', 'o:' .. order, 'b:' .. buyer)
  if not fields[1] then return nil end
  if fields[1] ~= '1' then return { err = 'HOLDFAST_FORMAT the stock has an unknown format' } end
  return {
    named = fields[2] == '1', left = tonumber(fields[3]), held = tonumber(fields[4]), sold = tonumber(fields[5]),
    ends = fields[6], order = fields[7] and cjson.decode(fields[7]), has = tonumber(fields[8] or 0),
  }
end

local function putBack(stock, goods, buyer)
  if stock.named then
    for _, unit in ipairs(goods) do call('RPUSH', UNITS, unit) end
    keepEnd(stock, UNITS)
  else
    call('HINCRBY', STOCK, 'left', goods)
  end
  if buyer and call('HINCRBY', STOCK, 'b:' .. buyer, -amount(goods)) <= 0 then call('HDEL', STOCK, 'b:' .. buyer) end
end

local function returnExpired(stock)
  local expired = call('ZRANGEBYSCORE', ENDS, '-inf', whole(nowMs()))
  for _, id in ipairs(expired) do
    local order = cjson.decode(call('HGET', STOCK, 'o:' .. id))
    putBack(stock, order[2], order[3])
    call('HINCRBY', STOCK, 'held', -amount(order[2]))
    call('HDEL', STOCK, 'o:' .. id)
    call('ZREM', ENDS, id)
  end
  return #expired > 0
end

-- The stock as it is now, with one order and one buyer; holds that ran out have returned.
local function readStock(order, buyer)
  local stock = fetch(order, buyer)
  if stock and not stock.err and stock.held > 0 and returnExpired(stock) then return fetch(order, buyer) end
  return stock
end

local function left(stock) return stock.named and call('LLEN', UNITS) or stock.left end

local function orderText(state, goods, buyer) return cjson.encode({ state, goods, buyer }) end
