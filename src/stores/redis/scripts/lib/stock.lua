-- A stock is a hash: head = 3, c for counted goods or n for named units, and when all of it ends (0 for never); left (counted
-- goods); held; total, all goods that ever came in and were not let go; opening; b:<buyer> = how many the buyer has;
-- o:<order> = the letter of its state, the length of the buyer's name, a colon, that name, and the goods as JSON. The states:
-- h held, s sold, m on its way to another stock, a added; r returned and k kept for the same take have no goods, but how many
-- they are for. An earlier build wrote 0 for that, and for what was added; its stocks have 2 in their head, and no k.
-- Goods that are neither left nor held nor on their way are sold. Named units are a list. A sorted set has held orders by the end of
-- the hold, kept orders by the end of their memory, and orders on their way at infinity.
local call = redis.call
local STOCK, UNITS, ENDS = KEYS[1], KEYS[2], KEYS[3]
-- An order whose hold expired belongs to its buyer for so long: else a late confirmation would sell the goods of another order.
local REMEMBER_MS = 86400000
-- So many expired holds return in one call, so that it is short.
local RETURNS = 50

local function whole(number) return string.format('%.0f', number) end

local function nowMs()
  local time = call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- The list and the sorted set come and go; they must expire with the hash.
local function keepEnd(ends, key)
  if ends ~= '0' then call('PEXPIREAT', key, ends) end
end

local function amount(goods) return type(goods) == 'table' and #goods or goods end

local function orderText(state, buyer, goods) return state .. #buyer .. ':' .. buyer .. goods end

-- State, buyer and goods (JSON) of an order, or nothing.
local function readOrder(order)
  local text = call('HGET', STOCK, 'o:' .. order)
  if not text then return nil end
  local state, length, from = string.match(text, '^(%a)(%d+):()')
  return state, string.sub(text, from, from + length - 1), string.sub(text, from + length)
end

-- The first use of an order as JSON when that was not this one; nothing when it was, or when the order is new. What was added
-- is compared as text, what is taken by its number.
local function otherUse(order, kind, buyer, goods)
  local state, firstBuyer, firstGoods = readOrder(order)
  if not state then return nil end
  local first = { kind = state == 'a' and 'add' or 'take', buyer = firstBuyer, count = amount(cjson.decode(firstGoods)) }
  local same = firstGoods == '0' or kind == 'add' and firstGoods == goods or kind == 'take' and first.count == tonumber(goods)
  if first.kind == kind and firstBuyer == buyer and same then return nil end
  return cjson.encode(first)
end

local function putBack(stock, goods, buyer)
  if stock.named then
    for _, unit in ipairs(goods) do call('RPUSH', UNITS, unit) end
    keepEnd(stock.ends, UNITS)
  end
  stock.left = stock.left + amount(goods)
  if buyer ~= '' and call('HINCRBY', STOCK, 'b:' .. buyer, -amount(goods)) <= 0 then
    call('HDEL', STOCK, 'b:' .. buyer)
  end
end

-- Returns a portion of the expired goods; true if that was the last one.
local function returnExpired(stock)
  local now = nowMs()
  local expired = call('ZRANGEBYSCORE', ENDS, '-inf', whole(now), 'LIMIT', 0, RETURNS)
  for _, id in ipairs(expired) do
    local state, buyer, text = readOrder(id)
    if state == 'h' then
      local goods = cjson.decode(text)
      putBack(stock, goods, buyer)
      stock.held = stock.held - amount(goods)
      call('HSET', STOCK, 'o:' .. id, orderText('k', buyer, amount(goods)))
      call('ZADD', ENDS, whole(now + REMEMBER_MS), id)
    else
      call('HDEL', STOCK, 'o:' .. id)
      call('ZREM', ENDS, id)
    end
  end
  return #expired < RETURNS
end

local function save(stock)
  local left, held = not stock.named and stock.left or 0, stock.held
  if left ~= tonumber(stock.was[2]) or held ~= tonumber(stock.was[3]) then call('HSET', STOCK, 'left', left, 'held', held) end
end

-- The stock after expired holds have returned; a step changes it and writes it with `save`. Without a stock the second value is the
-- answer of the script: 'again' if more holds may have expired than one call returns, because goods must not look sold out meanwhile.
local function load()
  local fields = call('HMGET', STOCK, 'head', 'left', 'held')
  local head = fields[1] or ''
  if string.byte(head) == 50 then
    -- From now on an earlier build refuses the stock: it would answer for a kept order as if goods had been taken.
    call('HSET', STOCK, 'head', '3' .. string.sub(head, 2))
  elseif string.byte(head) ~= 51 then
    if call('EXISTS', STOCK) == 0 then return nil end
    return nil, { err = 'HOLDFAST_FORMAT the stock has an unknown format' }
  end
  local named = string.byte(head, 2) == 110
  local stock = { named = named, left = named and call('LLEN', UNITS) or tonumber(fields[2]), held = tonumber(fields[3]),
    ends = string.sub(head, 3), was = fields }
  if stock.held > 0 and not returnExpired(stock) then
    save(stock)
    return nil, 'again'
  end
  return stock
end
