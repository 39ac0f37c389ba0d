-- A step publishes its notifications when all of it is decided. The scripts of the quorum include this file, too.
local letters = {}

local function post(inbox, text)
  letters[#letters + 1] = { inbox, text }
end

local function deliver()
  for _, letter in ipairs(letters) do call('PUBLISH', 'holdfast:inbox:' .. letter[1], letter[2]) end
  letters = {}
end
