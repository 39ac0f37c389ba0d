-- A step publishes its notifications when all of it is decided. The quorum shares this file.
local notifications = {}

local function post(inbox, text)
  notifications[#notifications + 1] = { inbox, text }
end

local function deliver()
  for _, notification in ipairs(notifications) do call('PUBLISH', 'holdfast:inbox:' .. notification[1], notification[2]) end
  notifications = {}
end
