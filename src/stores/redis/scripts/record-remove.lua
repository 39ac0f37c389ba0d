-- Removes a record if the condition holds.
-- KEYS[1]: the record
-- KEYS[2]: the lock, for the conditions 'held' and 'plain' only
-- ARGV[1]: 'always', 'absent', 'version', 'held' or 'plain'
-- ARGV[2]: the version, or the id of the claim that must hold the lock
-- Answers: 1 removed, 0 not
-- @include lib/clock.lua
-- @include lib/record.lua
-- @include lib/condition.lua
local record, last = readRecord(KEYS[1])
if record and record.err then return record end
if not record or not allows(record, ARGV[1], ARGV[2]) then return 0 end
call('SET', KEYS[1], format('1r%016.0f', last), 'PX', format('%.0f', KEEP))
return 1
