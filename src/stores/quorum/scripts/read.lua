-- Shows keys as they were written, expired claims included, each in parts.
-- KEYS[i]: a key
-- ARGV[1]: fields of a part, about
-- ARGV[2]: the cursor of the part, 0 for the first
-- Answers: the time in microseconds, then for each key { cursor of the next part or 0, fields, holders, queue, called, deadlines }: fields
--          of the hash with their values, and members of the sorted sets with their scores for the claims among them; or -1 for an
--          unknown format. A claim that exists all the time is shown at least once
-- @include lib/base.lua
-- @include lib/state.lua
local function show(name)
  local state = load(name, '')
  if not state then return -1 end
  local cursor, fields = unpack(call('HSCAN', name, ARGV[2], 'COUNT', ARGV[1]))
  local shown = { holders = {}, queue = {}, called = {}, deadlines = {} }
  local function add(what, id)
    local members, score = shown[what], call('ZSCORE', part(state, what), id)
    if not score then return end
    members[#members + 1] = id
    members[#members + 1] = score
  end
  for at = 1, #fields, 2 do
    local kind, id = string.match(fields[at], '^(%a+):(.*)$')
    if kind == 'holder' then
      add('holders', id)
    elseif kind == 'waiter' then
      add('queue', id)
      add('called', id)
      add('deadlines', id)
    end
  end
  return { cursor, fields, shown.holders, shown.queue, shown.called, shown.deadlines }
end

local answers = { stamp }
for index = 1, #KEYS do answers[index + 1] = show(KEYS[index]) end
return answers
