-- Reserves an order for a take from another stock, or only checks that it could.
-- KEYS[1]: the stock
-- KEYS[2]: its named units
-- KEYS[3]: when its holds end
-- ARGV[1]: the order
-- ARGV[2]: the buyer
-- ARGV[3]: how many
-- ARGV[4]: 'register' or 'compare'
-- Answers: 'fits', JSON of the order's first use when that was another, nothing when there is no such stock, or 'again'
-- (lib/stock.lua)
-- @include lib/stock.lua
local stock, instead = load()
if not stock then return instead end
save(stock)
if ARGV[4] == 'register' then call('HSETNX', STOCK, 'o:' .. ARGV[1], orderText('k', ARGV[2], ARGV[3])) end
return otherUse(ARGV[1], 'take', ARGV[2], ARGV[3]) or 'fits'
