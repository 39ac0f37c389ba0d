-- Answers questions about claims, each in its turn.
-- KEYS[i]: the key of question i
-- ARGV[i]: question i as text. A claim: a letter (x exclusive and unnamed, waits when blocked, proposes a number; y the same,
--          does not wait; f anything, with further fields), ballot and ticket in 16 digits each, ttl in 10, then id, inbox, label,
--          actor, meta and lock delay, and for f also queue, kind, limit, weight, owner and the id it replaces, each ended
--          by a zero byte; for x and y, at the end, how long the key lives with it, in 8 digits. A renewal: n, ttl in 10
--          digits, sequence number in 16 (0 to keep it), kind, id. To raise the sequence number: p, the number in 16
--          digits, id. A roll-back: r, ballot in 16 digits, id. A release: q, id.
-- Answers: the time in microseconds, or 0 if nothing needed it, then one vote for each question; or the time alone, or 1
--          without it, when there was one question and its vote is 1. To a claim: 1 granted with the number that it proposed; or a sequence number, negative when others
--          wait; or { 'blocked', position, retryAfterMs or -1, timeMs, label, heldMs }, without the last two if nobody
--          holds; or { 'refused', reason, message }; or { 'ahead' } for a ballot too far ahead. To a renewal or to p: a
--          sequence number in the same way, 0 if lost. To a release: 1 released, 0 absent. { 'format' } for an unknown format
-- @include lib/base.lua
local CLAIM, CLAIM_ONCE, RENEW, RAISE, ROLL_BACK, RELEASE = 120, 121, 110, 112, 114, 113
local answers, other = nil, nil
for index = 1, #KEYS do
  local key, argument = KEYS[index], ARGV[index]
  local letter, value = byte(argument), call('GET', key)
  local form, answer = value and sub(value, 1, 2), nil
  if letter == RELEASE then
    local id = sub(argument, 2)
    if not value or form == '2f' then
      answer = 0
    -- The key of a living vote has more than a day left, and what is more than that is the vote's: no clock has to be read.
    elseif form == '2x' and sub(value, 71, 70 + #id) == id and byte(value, 71 + #id) == 0 and call('PTTL', key) > KEEP then
      call('SET', key, '2f' .. sub(value, 3, 18), 'KEEPTTL')
      answer = 1
    end
  end
  if not answer and not stampText then
    -- @include lib/clock.lua
  end
  if letter == CLAIM or letter == CLAIM_ONCE then
    local ballot = sub(argument, 2, 17)
    if (not value or form == '2f') and (ballot <= stampText or ballot <= format('%016.0f', stampText + KEEP * 1000)) then
      local seq = ballot
      answer = 1
      if value and sub(value, 3) >= ballot then
        seq = format('%016.0f', sub(value, 3) + 1)
        answer = tonumber(seq)
      end
      call('SET', key, '2x' .. seq .. ballot .. nowText .. nowText .. sub(argument, 34, -9), 'PX', sub(argument, -8))
    end
  elseif letter == RENEW and (not value or form == '2f') then
    answer = 0
  elseif letter == RENEW and form == '2x' and sub(argument, 28, 28) == 'e' then
    local life, seq, id, held = sub(argument, 2, 11), sub(argument, 12, 27), sub(argument, 29), sub(value, 3, 18)
    local left = sub(value, 48, 60) + sub(value, 61, 70) - nowText
    if seq == '0000000000000000' then seq = held end
    if left > 0 and sub(value, 71, 70 + #id) == id and byte(value, 71 + #id) == 0 and seq >= held then
      if left > tonumber(life) then life = format('%010.0f', left) end
      call('SET', key, '2x' .. seq .. sub(value, 19, 47) .. nowText .. life .. sub(value, 71), 'PX',
        format('%.0f', life + KEEP))
      answer = tonumber(seq)
    end
  end
  if not answer then
    -- Everything else is made only when it is needed, in a function of its own: the short way makes none, and its few variables
    -- are all that a call has to make room for.
    other = other or (function()
      -- @include lib/step.lua
      -- @include lib/answer.lua
      return function(key, letter, argument, value)
        local state = load(value)
        if not state then return { 'format' } end
        keyName = key
        sweep(state)
        local answer
        if letter == RENEW then
          answer = answerRenew(state, argument)
        elseif letter == RAISE then
          answer = answerRaise(state, argument)
        elseif letter == RELEASE then
          answer = answerRelease(state, '9007199254740991', sub(argument, 2))
        elseif letter == ROLL_BACK then
          answer = answerRelease(state, sub(argument, 2, 17), sub(argument, 18))
        else
          answer = answerClaim(state, claimOf(argument))
        end
        if state.changed then save(key, state) end
        deliver()
        return answer
      end
    end)()
    answer = other(key, letter, argument, value)
  end
  if answer == 1 and #KEYS == 1 then return stampText or 1 end
  answers = answers or {}
  answers[index + 1] = answer
end
answers[1] = stampText or 0
return answers

