-- A record is a hash: format = 2, value, version, expires (milliseconds, 0 for never), units if the value is a list that was counted.
-- It expires with its ttl. A separate key keeps its last version for a day longer, so that an old version never comes back, not even
-- when the server's clock goes back; a record without a ttl has its version in itself alone.
local UNKNOWN = 'HOLDFAST_FORMAT the record has an unknown format'

-- The record, or nothing; and the highest version that its key ever had.
local function readRecord()
  local kind = call('TYPE', KEYS[1]).ok
  if kind == 'none' then return nil, tonumber(call('GET', KEYS[2]) or 0) end
  if kind ~= 'hash' then return redis.error_reply(UNKNOWN) end
  local fields = call('HMGET', KEYS[1], 'format', 'version', 'expires', 'units', 'value')
  if fields[1] ~= '2' then return redis.error_reply(UNKNOWN) end
  local version, expires = tonumber(fields[2]), tonumber(fields[3])
  if expires > 0 and expires <= now then return nil, version end
  return { version = version, expires = expires, units = tonumber(fields[4]), text = fields[5] }, version
end

local function keepVersion(version, forMs)
  call('SET', KEYS[2], format('%.0f', version), 'PX', format('%.0f', forMs + KEEP))
end

local function writeRecord(record)
  call('HSET', KEYS[1], 'format', 2, 'version', format('%.0f', record.version), 'expires', format('%.0f', record.expires),
    'value', record.text)
  if record.units then call('HSET', KEYS[1], 'units', record.units) else call('HDEL', KEYS[1], 'units') end
  if record.expires == 0 then
    call('PERSIST', KEYS[1])
    call('DEL', KEYS[2])
  else
    call('PEXPIREAT', KEYS[1], format('%.0f', record.expires))
    keepVersion(record.version, record.expires - now)
  end
end

local function show(record)
  return record and { record.version, record.expires, record.text } or false
end
