-- One reading of the server's clock for the whole call, as text: 16 digits of microseconds for sequence numbers, 13 of
-- milliseconds for expiry, because a vote is written and compared as text. To make numbers of them costs more than a lock.
local time = call('TIME')
stampText = time[1] .. sub('00000' .. time[2], -6)
nowText = sub(stampText, 1, 13)
