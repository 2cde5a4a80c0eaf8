-- Requires: keys, conversation, ready, wake, events. Defines: SETTLED, settle_turn, settle_head, pop_head,
-- needs_wake.
-- @include failed
-- @include idle-ttl
-- @include stream
-- @include spending
local SETTLED = { completed = true, failed = true, canceled = true }

-- Settles a turn: removes the fields that only an unsettled turn needs, starts its retention and emits its event. The
-- parameter `ttl` is `new_ttl` of start_idle_ttl.
local function settle_turn(turn, state, retentionMs, field, value, ttl)
  local key = turn_prefix .. turn
  local kept = redis.call('HMGET', key, 'inputTokens', 'outputTokens', 'cachedTokens', 'costMicros', 'inputSeq', 'suspended',
    'hasContext', 'acceptedAt')
  local input_seq, was_suspended, has_context, accepted_at = unpack(kept, 5, 8)
  -- After a failover the clock may go back, but the settlement times of a conversation must never decrease.
  local at = string.format('%.0f', math.max(now, conversation.settled, tonumber(accepted_at or '') or 0))
  if not input_seq then redis.call('HDEL', txt, 'i:' .. turn) end
  redis.call('HDEL', key, 'firstOwner', 'streamed')
  if has_context then
    redis.call('HDEL', txt, 'c:' .. turn)
    redis.call('HDEL', key, 'hasContext')
  end
  -- Only a turn that was suspended has answers, counts of suspensions and fields of its wait. The field name of each answer
  -- stays, so that a repeated answer is recognized.
  if was_suspended then
    for _, name in ipairs(redis.call('HKEYS', key)) do
      local is_dropped = string.find(name, '^suspended') or string.find(name, '^wait')
      if is_dropped then redis.call('HDEL', key, name) end
      if string.find(name, '^a:') then redis.call('HSET', key, name, '') end
    end
    forget_waiting(turn)
  end
  redis.call('HSET', c, 'last', state .. ' ' .. at)
  redis.call('HSET', key, 'state', state, 'settledAt', at, field, value)
  redis.call('PEXPIRE', key, retentionMs)
  if state == 'failed' then list_failed(turn, at, retentionMs) end
  emit('turn_settled', { 'turn', turn, 'state', state, unpack(add_spending(kept)) })
  end_stream(turn)
  start_idle_ttl(conversation.ttl, ttl)
end

-- Settles the first turn of the mailbox. The turns whose messages went into it end in the same way and leave the mailbox.
local function settle_head(...)
  settle_turn(head_turn, ...)
  for _, turn in ipairs(steered_turns) do
    settle_turn(turn, ...)
    redis.call('LREM', mb, 1, turn)
  end
end

-- Removes the settled turn, which is the first one, from the mailbox, ends its lease and wakes the next turn (I3).
-- Returns 1 if there is a next turn. Then the caller adds `wake` to the queue.
local function pop_head(wake)
  redis.call('LPOP', mb)
  redis.call('HDEL', c, 'owner', 'lease', 'attempts')
  if not next_turn then
    unschedule(turn_member)
    return 0
  end
  wake_turn(wake)
  return 1
end

-- For a repeated call: returns 1 if the first call recorded this wake, so that the caller must still add it to the queue.
local function needs_wake(wake)
  return wake ~= '' and head_turn and redis.call('HGET', c, 'wake') == wake and 1 or 0
end
