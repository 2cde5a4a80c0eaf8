-- Needs: keys, ready, append, calls, close, fence.

-- The turn's fields, the conversation's fields, and the user message while it is the log's last entry, else ''.
local function tell_head(turn)
  local key = tbase .. turn
  local seq = redis.call('HGET', key, 'inputSeq')
  local entry = seq == redis.call('HGET', c, 'head') and redis.call('HGET', log, seq) or '\n'
  return redis.call('HGETALL', key), redis.call('HGETALL', c), string.match(entry, '\n(.*)')
end

-- Makes an owner the head turn's under a new epoch. At its first claim the turn's user message enters the log.
-- Answers as tell_head.
local function take_head(turn, owner, leaseMs, attempts, closing)
  local key = tbase .. turn
  raise_epoch()
  local lease = now + tonumber(leaseMs)
  redis.call('HSET', c, 'owner', owner, 'lease', string.format('%.0f', lease), 'attempts', attempts)
  redis.call('HDEL', c, 'poison', 'poisoned', 'sweeps')
  look_again(turn_member, lease)
  local head = redis.call('HMGET', key, 'inputSeq', 'it', 'ib')
  if not head[1] then
    -- A caller's own loop may have left a round open: no user message may follow an unanswered call.
    close_open_calls(turn, closing)
    local input = redis.call('HGET', cp, 'i:' .. turn)
    redis.call('HSET', key, 'inputSeq', (append_list({ 1, head[2], head[3], 1, input }, 1, turn)))
    redis.call('HDEL', key, 'it', 'ib')
    redis.call('HDEL', cp, 'i:' .. turn)
  end
  redis.call('HSET', key, 'state', 'running')
  return tell_head(turn)
end
