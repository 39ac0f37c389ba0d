-- @include time.lua
-- Microseconds for tokens and milliseconds for expiry, as text of 16 and 13 digits, because a hold is written and compared as text.
local stampText = time[1] .. sub('00000' .. time[2], -6)
local nowText = sub(stampText, 1, 13)
