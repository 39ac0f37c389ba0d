-- A record is written as 1r<version 16><expires 13, zeros for never><units 10, or dashes if nobody counted them><value>.
-- What is left of a removed one is 1r<version 16> alone, for a day, so that an old version never comes back.
local function readRecord(key)
  local value = call('GET', key)
  if not value then return nil, 0 end
  if sub(value, 1, 2) ~= '1r' then return redis.error_reply('HOLDFAST_FORMAT the record has an unknown format') end
  local version = tonumber(sub(value, 3, 18))
  if #value == 18 then return nil, version end
  local expires = tonumber(sub(value, 19, 31))
  if expires > 0 and expires <= now then return nil, version end
  return { version = version, expires = expires, units = tonumber(sub(value, 32, 41)), text = sub(value, 42) },
    version
end

local function writeRecord(key, record)
  local units = record.units and format('%010.0f', record.units) or '----------'
  local value = format('1r%016.0f%013.0f', record.version, record.expires) .. units .. record.text
  if record.expires == 0 then
    call('SET', key, value)
  else
    call('SET', key, value, 'PX', format('%.0f', record.expires - now + KEEP))
  end
end

local function show(record)
  return record and { record.version, record.expires, record.text } or false
end
