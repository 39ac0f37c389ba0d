-- Removes a record if the condition holds.
-- KEYS[1]: the record
-- KEYS[2]: its version
-- KEYS[3]: the lock, for the conditions 'held' and 'plain' only
-- ARGV[1]: 'always', 'absent', 'version', 'held' or 'plain'
-- ARGV[2]: the version, or the id of the claim that must hold the lock
-- Answers: 1 removed, 0 not
-- @flags allow-oom
-- @include lib/clock.lua
-- @include lib/record.lua
-- @include lib/condition.lua
local record, last = readRecord()
if record and record.err then return record end
if not record or not allows(record, ARGV[1], ARGV[2]) then return 0 end
call('UNLINK', KEYS[1])
keepVersion(last, 0)
return 1
