-- Answers questions about claims, each in its turn.
-- KEYS[i]: the key of question i
-- ARGV[i]: question i as text. A claim: a letter (x exclusive and unnamed, waits when blocked; y the same, does not wait;
--          f anything, with further fields), ttl in 10 digits, ballot and ticket in 16 each, then id, inbox, label,
--          actor, meta and lock delay, and for f also queue, kind, limit, weight, owner and the id it replaces, each ended
--          by a zero byte. A renewal: n, ttl in 10 digits, sequence number in 16 (0 to keep it), kind, id.
--          To raise the sequence number: p, the number in 16 digits, id. A release: r, ballot in 16 digits, id.
-- Answers: the time in microseconds, then one vote for each question. To a claim: a sequence number, negative when others
--          wait; or { 'blocked', position, retryAfterMs or -1, timeMs, label, heldMs }, without the last two if nobody holds;
--          or { 'refused', reason, message }; or { 'ahead' } for a ballot too far ahead. To a renewal or to p: a sequence
--          number in the same way, 0 if lost. To a release: 1 released, 0 absent. { 'format' } for an unknown format
-- @include lib/clock.lua
local CLAIM, CLAIM_ONCE, RENEW, RAISE, RELEASE = 120, 121, 110, 112, 114
local answers, other = { stamp }, nil
local lastHead, head, life, latest = nil, nil, nil, format('%016.0f', stamp + KEEP * 1000)
for index = 1, #KEYS do
  local key, argument = KEYS[index], ARGV[index]
  local letter, value = byte(argument), call('GET', key)
  local form, answer = value and sub(value, 1, 2), nil
  if letter == CLAIM or letter == CLAIM_ONCE then
    local ballot = sub(argument, 12, 27)
    if (not value or form == '1f') and ballot <= latest and ballot >= '0001000000000000' then
      local seq = ballot
      if value and sub(value, 3) >= ballot then seq = format('%016.0f', sub(value, 3) + 1) end
      if sub(argument, 2, 27) ~= lastHead then
        local ttl = sub(argument, 2, 11)
        lastHead = sub(argument, 2, 27)
        head, life = format('%013.0f', now + ttl) .. nowText .. ballot, format('%.0f', ttl + KEEP)
      end
      call('SET', key, '1x' .. seq .. head .. sub(argument, 44), 'PX', life)
      answer = tonumber(seq)
    end
  elseif letter ~= RENEW and letter ~= RELEASE then
    answer = nil
  elseif not value or form == '1f' then
    answer = 0
  elseif form == '1x' and sub(value, 19, 31) > nowText then
    if letter == RELEASE then
      local id = sub(argument, 18)
      if sub(value, 61, 60 + #id) == id and byte(value, 61 + #id) == 0 and sub(value, 45, 60) <= sub(argument, 2, 17) then
        call('SET', key, '1f' .. sub(value, 3, 18), 'PX', '86400000')
        answer = 1
      end
    elseif sub(argument, 28, 28) == 'e' then
      local ttl, seq, id = sub(argument, 2, 11), sub(argument, 12, 27), sub(argument, 29)
      local held = sub(value, 3, 18)
      if seq == '0000000000000000' then seq = held end
      if sub(value, 61, 60 + #id) == id and byte(value, 61 + #id) == 0 and seq >= held then
        local expires = math.max(now + ttl, sub(value, 19, 31))
        call('SET', key, '1x' .. seq .. format('%013.0f', expires) .. sub(value, 32), 'PX',
          format('%.0f', expires - now + KEEP))
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
  answers[index + 1] = answer
end
return answers
