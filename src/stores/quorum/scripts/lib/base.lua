local call, byte, sub, format = redis.call, string.byte, string.sub, string.format
local KEEP = 86400000
local stampText, nowText = nil, nil
