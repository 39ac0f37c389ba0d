-- The question whose arguments begin at `first`, with everything that may be about it.
local function claimAt(first)
  local mode, weight, limit = ARGV[first + 5], tonumber(ARGV[first + 6]), tonumber(ARGV[first + 7])
  local claim = { id = ARGV[first + 1], ballotText = ARGV[first + 2], ticketText = ARGV[first + 3], ttl = tonumber(ARGV[first + 4]),
    mode = mode, weight = weight, limit = limit, owner = ARGV[first + 8], delay = tonumber(ARGV[first + 9]),
    queue = ARGV[first + 10] == '1', replaces = ARGV[first + 11] == '1', details = ARGV[first + 12] }
  claim.ballot, claim.ticket = tonumber(claim.ballotText), tonumber(claim.ticketText)
  claim.amount, claim.capacity = amountOf(mode, weight), capacityOf(claim)
  return claim
end

local function answerQuestion(name, kind, id, first)
  local state = load(name, id)
  if not state then return { 'format' } end
  sweep(state, id)
  local answer
  if kind == 'claim' then
    answer = answerClaim(state, claimAt(first))
  elseif kind == 'join' then
    answer = answerJoin(state, claimAt(first))
  elseif kind == 'renew' then
    answer = answerRenew(state, id, tonumber(ARGV[first + 2]), tonumber(ARGV[first + 3]), ARGV[first + 4])
  elseif kind == 'raise' then
    answer = answerRaise(state, id, tonumber(ARGV[first + 2]))
  else
    answer = answerRelease(state, id, ARGV[first + 2])
  end
  save(state)
  deliver()
  return answer
end
