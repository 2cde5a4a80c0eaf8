-- Requires: keys, conversation, ready, wake, events. Defines: SETTLED, settle_turn, pop_head, needs_wake.
-- @include failed
-- @include idle-ttl
local SETTLED = { completed = true, failed = true, canceled = true }

-- Drops what only an unsettled turn needs, keeps the turn for its retention, emits the event. ttl: `given` of start_idle_ttl.
local function settle_turn(turn, state, retentionMs, field, value, ttl)
  local key = tbase .. turn
  local kept = redis.call('HMGET', key, 'inputSeq', 'sus', 'ctx', 'acceptedAt')
  -- The clock may run back after a failover. The settlements of a conversation must not.
  local at = string.format('%.0f', math.max(now, conversation.settled, tonumber(kept[4] or '') or 0))
  if not kept[1] then redis.call('HDEL', cp, 'i:' .. turn) end
  redis.call('HDEL', key, 'taken')
  if kept[3] then
    redis.call('HDEL', cp, 'c:' .. turn)
    redis.call('HDEL', key, 'ctx')
  end
  -- Only a suspended turn has answers, counts of suspensions and fields of its wait. The name of each answer stays, so that an
  -- answer sent again is recognized.
  if kept[2] then
    for _, name in ipairs(redis.call('HKEYS', key)) do
      local is_dropped = string.find(name, '^sus') or string.find(name, '^w')
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
