-- The values of many keys are read in one step: a call for each costs more than the reading itself. What was written since
-- must be read again.
local values, written = nil, nil
if #KEYS > 1 then values, written = call('MGET', unpack(KEYS)), {} end
