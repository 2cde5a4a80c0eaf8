-- Needs: keys, conversation, ready, append, calls, close, fence.

-- The turn's fields, the conversation's fields, and the user message while it is the log's last entry, else ''.
local function tell_head(turn)
  local key = tbase .. turn
  local seq = redis.call('HGET', key, 'inputSeq')
  local entry = seq == conversation.head and redis.call('HGET', log, seq) or '\n'
  return redis.call('HGETALL', key), redis.call('HGETALL', c), string.sub(entry, string.find(entry, '\n', 1, true) + 1)
end

-- Makes an owner the head turn's under a new epoch. At its first claim the turn's user message enters the log.
-- Answers as tell_head.
local function take_head(turn, owner, leaseMs, attempts, closing)
  local key, input_field = tbase .. turn, 'i:' .. turn
  local lease = now + tonumber(leaseMs)
  raise_epoch()
  put('owner', owner)
  put('lease', lease)
  put('attempts', attempts)
  if conversation.poison or conversation.sweeps then redis.call('HDEL', c, 'poison', 'poisoned', 'sweeps') end
  look_again(turn_member, lease)
  local input = redis.call('HGET', cp, input_field)
  if not input then
    redis.call('HSET', key, 'state', 'running')
    save_conversation()
    return tell_head(turn)
  end
  -- A caller's own loop may have left a round open: no user message may follow an unanswered call.
  close_open_calls(turn, closing)
  local tokens, bytes, at = string.match(input, '^(%d+) (%d+)\n()')
  local message = string.sub(input, at)
  local seq = append_messages({ 1, tokens, bytes, 1, message }, 1, turn)
  redis.call('HDEL', cp, input_field)
  redis.call('HSET', key, 'state', 'running', 'inputSeq', seq)
  save_conversation()
  return redis.call('HGETALL', key), redis.call('HGETALL', c), message
end
