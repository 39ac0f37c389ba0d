-- Answers questions about claims, each in its turn.
-- KEYS[i]: the key of question i
-- ARGV[i]: question i as text. A claim: a letter (x exclusive and unnamed, waits when blocked; y the same, does not wait;
--          f anything, with further fields), ballot and ticket in 16 digits each, ttl in 10, then id, inbox, label,
--          actor, meta and lock delay, and for f also queue, kind, limit, weight, owner and the id it replaces, each ended
--          by a zero byte; for x and y, at the end, how long the key lives with it, in 8 digits. A renewal: n, ttl in 10
--          digits, sequence number in 16 (0 to keep it), kind, id. To raise the sequence number: p, the number in 16
--          digits, id. A release: r, ballot in 16 digits, id.
-- Answers: the time in microseconds, then one vote for each question; or the time alone when there was one question and its
--          vote is 1. To a claim: 1 granted with the number that it proposed; or a sequence number, negative when others
--          wait; or { 'blocked', position, retryAfterMs or -1, timeMs, label, heldMs }, without the last two if nobody
--          holds; or { 'refused', reason, message }; or { 'ahead' } for a ballot too far ahead. To a renewal or to p: a
--          sequence number in the same way, 0 if lost. To a release: 1 released, 0 absent. { 'format' } for an unknown format
-- @include lib/clock.lua
local CLAIM, CLAIM_ONCE, RENEW, RAISE, RELEASE = 120, 121, 110, 112, 114
local answers, other = nil, nil
for index = 1, #KEYS do
  local key, argument = KEYS[index], ARGV[index]
  local letter, value = byte(argument), call('GET', key)
  local form, answer = value and sub(value, 1, 2), nil
  if letter == CLAIM or letter == CLAIM_ONCE then
    local ballot = sub(argument, 2, 17)
    if (not value or form == '2f') and ballot >= '0001000000000000'
      and (ballot <= stampText or ballot <= format('%016.0f', stampText + KEEP * 1000)) then
      local seq = ballot
      answer = 1
      if value and sub(value, 3) >= ballot then
        seq = format('%016.0f', sub(value, 3) + 1)
        answer = tonumber(seq)
      end
      call('SET', key, '2x' .. seq .. ballot .. nowText .. nowText .. sub(argument, 34, -9), 'PX', sub(argument, -8))
    end
  elseif letter ~= RENEW and letter ~= RELEASE then
    answer = nil
  elseif not value or form == '2f' then
    answer = 0
  elseif form == '2x' then
    local second, ttl = sub(value, 48, 57), sub(value, 61, 70)
    local isAlive = second == sub(nowText, 1, 10) and ttl >= '0000001000'
      or nowText - sub(value, 48, 60) < tonumber(ttl)
    if not isAlive then
      answer = nil
    elseif letter == RELEASE then
      local id = sub(argument, 18)
      if sub(value, 71, 70 + #id) == id and byte(value, 71 + #id) == 0 and sub(value, 19, 34) <= sub(argument, 2, 17) then
        call('SET', key, '2f' .. sub(value, 3, 18), 'PX', '86400000')
        answer = 1
      end
    elseif sub(argument, 28, 28) == 'e' then
      local life, seq, id, held = sub(argument, 2, 11), sub(argument, 12, 27), sub(argument, 29), sub(value, 3, 18)
      if seq == '0000000000000000' then seq = held end
      if sub(value, 71, 70 + #id) == id and byte(value, 71 + #id) == 0 and seq >= held then
        local left = sub(value, 48, 60) + ttl - nowText
        if left > tonumber(life) then life = format('%010.0f', left) end
        call('SET', key, '2x' .. seq .. sub(value, 19, 47) .. nowText .. life .. sub(value, 71), 'PX',
          format('%.0f', life + KEEP))
        answer = tonumber(seq)
      end
    end
  end
  if not answer then
    -- Everything else is made only when it is needed: the short way makes no function at all.
    if not other then
      -- @include lib/step.lua
      -- @include lib/answer.lua
      other = function(key, letter, argument, value)
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
          answer = answerRelease(state, argument)
        else
          answer = answerClaim(state, claimOf(argument))
        end
        if state.changed then save(key, state) end
        deliver()
        return answer
      end
    end
    answer = other(key, letter, argument, value)
  end
  if answer == 1 and #KEYS == 1 then return stampText end
  answers = answers or { stampText }
  answers[index + 1] = answer
end
return answers or { stampText }
