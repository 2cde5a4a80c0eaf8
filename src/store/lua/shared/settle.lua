-- Needs: keys, ready, wake, events. The end of a turn.
local SETTLED = { completed = true, failed = true, canceled = true }

-- Drops what only an unsettled turn needs, keeps the turn for its retention, tells who waits for it.
local function settle_turn(turn, state, retentionMs, field, value)
  local key = tbase .. turn
  -- Only a turn that was suspended has answers and counts of suspensions.
  if redis.call('HEXISTS', key, 'sus') == 1 then
    for _, name in ipairs(redis.call('HKEYS', key)) do
      if string.find(name, '^a:') or string.find(name, '^sus') then redis.call('HDEL', key, name) end
    end
  end
  redis.call('HDEL', key, 'it', 'ib', 'wfor', 'wstep', 'wuntil', 'wcalls', 'wful')
  redis.call('HDEL', cp, 'i:' .. turn)
  redis.call('HSET', key, 'state', state, 'settledAt', string.format('%.0f', now), field, value)
  redis.call('PEXPIRE', key, retentionMs)
  emit('turn_settled', { 'turn', turn, 'state', state })
end

-- Takes the settled head off the mailbox and ends its lease. True: another turn waits (I3). Without a wake the caller
-- takes it itself.
local function pop_head(wake)
  redis.call('LPOP', mb)
  redis.call('HDEL', c, 'owner', 'lease', 'attempts')
  if redis.call('LLEN', mb) == 0 then
    leave_alone(turn_member)
    return false
  end
  if wake ~= '' then wake_turn(wake) end
  return true
end

-- Whether a call sent again recorded this wake the first time, and it is still to be added.
local function is_recorded(wake)
  return wake ~= '' and redis.call('HGET', c, 'wake') == wake and redis.call('LLEN', mb) > 0
end
