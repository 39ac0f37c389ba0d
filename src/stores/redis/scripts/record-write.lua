-- Writes a record if the condition holds.
-- KEYS[1]: the record
-- KEYS[2]: its version
-- KEYS[3]: the lock, for the conditions 'held' and 'plain' only
-- ARGV[1]: the value
-- ARGV[2]: its ttl in milliseconds, empty for a record that stays
-- ARGV[3]: 'always', 'absent', 'version', 'held' or 'plain'
-- ARGV[4]: the version, or the id of the claim that must hold the lock
-- Answers: the new version; or, if the condition does not hold, { version, expiresAtMs or 0, value } or nothing
-- @include lib/clock.lua
-- @include lib/record.lua
-- @include lib/condition.lua
local record, last = readRecord()
if record and record.err then return record end
if not allows(record, ARGV[3], ARGV[4]) then return show(record) end
local version = math.max(last + 1, stamp)
local ttl = tonumber(ARGV[2])
writeRecord({ version = version, expires = ttl and now + ttl or 0, text = ARGV[1] })
return version
