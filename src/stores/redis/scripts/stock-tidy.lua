-- Removes the parts of a stock that is gone.
-- KEYS[1]: the stock
-- KEYS[2]: its named units
-- KEYS[3]: when its holds end
-- ARGV: none
-- Answers: how many parts were removed
-- @include lib/clock.lua
if call('EXISTS', KEYS[1]) == 1 then return 0 end
return call('UNLINK', KEYS[2], KEYS[3])
