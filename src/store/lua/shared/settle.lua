-- @include conversation
-- @include wake
-- @include events
-- @include stream
-- @include spending
local SETTLED = { completed = true, failed = true, canceled = true }

-- True if the conversation has an idle TTL after the settlement.
local function has_idle_ttl(ttl)
  return conversation.ttl or (ttl and ttl ~= '' and ttl ~= '0')
end

-- Ends the script, before its first write, if a key that only a settlement writes has the wrong type.
local function check_settlement(state, ttl)
  local shard = string.match(ready, '^(.*)ready$')
  check_keys('XLEN', ev)
  if value_of(read_turn(head_turn), 'suspended') then check_keys('ZCARD', shard .. 'waiting') end
  if state == 'failed' then check_keys('ZCARD', shard .. 'failed') end
  if has_idle_ttl(ttl) then check_keys('ZCARD', shard .. 'idle') end
end

-- Settles a turn, and starts its retention. `ttl`: the `new_ttl` of start_idle_ttl. The calling script then stores the
-- staged fields with save_conversation.
local function settle_turn(turn, state, retentionMs, field, value, ttl)
  local hash, usage = read_turn(turn), {}
  for at, name in ipairs(SPENT) do usage[at] = value_of(hash, name) end
  -- After a failover the clock may go back, but settlement times must never decrease.
  local at = string.format('%.0f', math.max(now, conversation.settled, tonumber(value_of(hash, 'acceptedAt') or '') or 0))
  if not value_of(hash, 'inputSeq') then redis.call('HDEL', txt, 'i:' .. turn) end
  if value_of(hash, 'hasContext') or value_of(hash, 'hasOwn') then
    -- @include given
    erase_given(turn, hash, state)
  end
  drop(hash, 'firstOwner', 'streamed')
  if value_of(hash, 'suspended') then
    -- @include turn-lists
    -- @include waits
    forget_waits(hash)
    forget_waiting(turn)
  end
  stage(record, 'last', state .. ' ' .. at)
  put(hash, 'state', state, 'settledAt', at, field, value)
  redis.call('PEXPIRE', hash.key, retentionMs)
  if state == 'failed' then
    -- @include turn-lists
    list_failed(turn, at, retentionMs)
  end
  emit('turn_settled', { 'turn', turn, 'state', state, unpack(add_spending(usage)) })
  end_stream(turn)
  if has_idle_ttl(ttl) then
    -- @include idle-ttl
    start_idle_ttl(conversation.ttl, ttl)
  end
end

-- Settles the first turn, and in the same way the turns whose messages were appended to it.
local function settle_head(...)
  settle_turn(head_turn, ...)
  for _, turn in ipairs(steered_turns) do
    settle_turn(turn, ...)
    redis.call('LREM', mb, 1, turn)
  end
end

-- Removes the first turn, and wakes the next turn (I3). Returns 1 if there is a next turn, and the caller adds `wake`.
local function pop_head(wake)
  redis.call('LPOP', mb)
  drop(record, 'owner', 'lease', 'attempts', 'blocked')
  if not next_turn then
    unschedule(turn_member)
    if has_enough_to_pack() then
      -- @include packing
      schedule_packing(now + PACK_AFTER_MS)
    end
    return 0
  end
  wake_turn(wake)
  return 1
end

-- Returns 1 if a repeated call must still add the wake that the first call recorded.
local function needs_wake(wake)
  return wake ~= '' and head_turn and value_of(record, 'wake') == wake and 1 or 0
end
