-- Requires: keys, conversation, ready, append, calls, close, fence. Defines: head_reply, end_of_log, end_before, check_input,
-- enter_input, take_head.

-- Returns the reply to a claim: the turn's fields, the conversation's fields, and the user message while it is the last
-- entry of the log, else ''.
local function head_reply(turn)
  local key = turn_prefix .. turn
  local seq = redis.call('HGET', key, 'inputSeq')
  local entry = tonumber(seq) == conversation.head and redis.call('HGET', log, seq) or '\n'
  return redis.call('HGETALL', key), redis.call('HGETALL', c), string.sub(entry, string.find(entry, '\n', 1, true) + 1)
end

-- Returns the end of the log as fields of the conversation.
local function end_of_log()
  return { 'head', conversation.head, 'headTokens', conversation.tokens, 'headBytes', conversation.bytes, 'turns',
    conversation.turns }
end

-- Returns the same fields as they were before the user message of a turn.
local function end_before(turn)
  local seq = tonumber(redis.call('HGET', turn_prefix .. turn, 'inputSeq')) - 1
  local tokens, bytes = string.match(redis.call('HGET', log, seq) or '', '^%S+ %S+ (%S+) (%S+)')
  return { 'head', seq, 'headTokens', tokens or 0, 'headBytes', bytes or 0, 'turns', conversation.turns - 1 }
end

local INPUT = '^(%d+) (%d+)\n()'
-- Stored user messages that were checked, by turn. false: the message is in the log.
local inputs = {}

-- Checks the stored user message of a turn. A script that claims the turn calls this before its first write.
local function check_input(turn)
  read_open_calls()
  local input = redis.call('HGET', txt, 'i:' .. turn)
  if input and not string.find(input, INPUT) then refuse(txt, 'i:' .. turn) end
  inputs[turn] = input
end

-- Appends the turn's user message to the log at its first claim, or for another turn. `owner`: of the first claim, else nil.
-- Returns the message, or nil if the message is in the log already.
local function enter_input(turn, closing, owner)
  local key, field, input = turn_prefix .. turn, 'i:' .. turn, inputs[turn]
  if input == nil then input = redis.call('HGET', txt, field) end
  if not input then
    redis.call('HSET', key, 'state', 'running')
    return nil
  end
  -- A caller with its own model loop may have left tool calls without results, and no user message may follow such a
  -- call.
  close_open_calls(turn, closing)
  local tokens, bytes, at = string.match(input, INPUT)
  local message = string.sub(input, at)
  conversation.before_input = end_of_log()
  append_messages({ 1, tokens, bytes, 1, message }, 1, turn)
  redis.call('HDEL', txt, field)
  redis.call('HSET', key, 'state', 'running', 'inputSeq', conversation.head, unpack(owner and { 'firstOwner', owner } or {}))
  return message
end

-- Gives the first turn of the mailbox to a worker under a new epoch. Also stores `facts`, further fields of the
-- conversation, if they are given. Returns the same values as head_reply.
local function take_head(turn, owner, leaseMs, attempts, closing, facts)
  local lease = now + tonumber(leaseMs)
  schedule(turn_member, lease)
  local message = enter_input(turn, closing, owner)
  save_conversation('epoch', raise_epoch(), 'owner', owner, 'lease', string.format('%.0f', lease), 'attempts', attempts,
    unpack(facts or {}))
  redis.call('HDEL', c, 'poison', 'poisoned', 'sweeps', 'alone')
  if not message then
    redis.call('HSETNX', turn_prefix .. turn, 'firstOwner', owner)
    return head_reply(turn)
  end
  return redis.call('HGETALL', turn_prefix .. turn), redis.call('HGETALL', c), message
end
