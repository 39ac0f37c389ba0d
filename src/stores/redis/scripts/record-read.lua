-- Reads a record.
-- KEYS[1]: the record
-- KEYS[2]: its version
-- ARGV: none
-- Answers: { version, expiresAtMs or 0, value }, or nothing
-- @include lib/clock.lua
-- @include lib/record.lua
local record = readRecord()
if record and record.err then return record end
return show(record)
