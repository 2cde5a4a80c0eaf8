-- Requires: keys, conversation, ready, wake, events. Defines: SETTLED, settle_turn, pop_head, needs_wake.
-- @include failed
-- @include idle-ttl
local SETTLED = { completed = true, failed = true, canceled = true }

-- Drops the fields that only an unsettled turn needs, starts the retention of the turn and emits its event.
-- The parameter `ttl` is `new_ttl` of start_idle_ttl.
local function settle_turn(turn, state, retentionMs, field, value, ttl)
  local key = turn_prefix .. turn
  local input_seq, was_suspended, has_context, accepted_at =
    unpack(redis.call('HMGET', key, 'inputSeq', 'suspended', 'hasContext', 'acceptedAt'))
  -- The clock may run back after a failover. The times of settlements must still ascend.
  local at = string.format('%.0f', math.max(now, conversation.settled, tonumber(accepted_at or '') or 0))
  if not input_seq then redis.call('HDEL', txt, 'i:' .. turn) end
  redis.call('HDEL', key, 'firstOwner')
  if has_context then
    redis.call('HDEL', txt, 'c:' .. turn)
    redis.call('HDEL', key, 'hasContext')
  end
  -- Only a suspended turn has answers, counts of suspensions and fields of its wait. The name of each answer stays, so that an
  -- answer sent again is recognized.
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
  emit('turn_settled', { 'turn', turn, 'state', state })
  start_idle_ttl(conversation.ttl, ttl)
end

-- Removes the settled head from the mailbox, ends its lease and wakes the next turn (I3). Returns 1 if there is a next turn:
-- the caller adds `wake`.
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

-- Returns 1 if a call that is sent again recorded this wake the first time, and the wake is still to be added.
local function needs_wake(wake)
  return wake ~= '' and head_turn and redis.call('HGET', c, 'wake') == wake and 1 or 0
end
