-- @include ready
-- @include append

-- Returns the turn's fields, the conversation's fields, and the user message while that message is the last log entry,
-- else ''.
local function head_reply(turn)
  local hash = read_turn(turn)
  local seq = value_of(hash, 'inputSeq')
  local entry = tonumber(seq) == conversation.head and redis.call('HGET', log, seq) or '\n'
  return fields_of(hash), fields_of(record), string.sub(entry, string.find(entry, '\n', 1, true) + 1)
end

-- Converts an end of the log (last seq and totals) to fields of the conversation.
local function end_fields(log_end)
  return { 'head', log_end.head, 'headTokens', log_end.tokens, 'headBytes', log_end.bytes, 'turns', log_end.turns }
end

-- Returns the end of the log before the user message of a turn.
local function end_before(turn)
  local seq = value_of(read_turn(turn), 'inputSeq')
  local tokens, bytes, total_tokens, total_bytes = string.match(redis.call('HGET', log, seq), '^(%S+) (%S+) (%S+) (%S+)')
  return { head = seq - 1, tokens = total_tokens - tokens, bytes = total_bytes - bytes, turns = conversation.turns - 1 }
end

local function has_open_calls()
  return (value_of(record, 'open') or '0') ~= '0'
end

local INPUT = '^(%d+) (%d+)\n()'
-- User messages that were checked, by turn. false: the log has the message already.
local inputs = {}

-- Checks the user message of a turn. A script that claims the turn calls this before its first write.
local function check_input(turn)
  if has_open_calls() then
    -- @include open-calls
    read_open_calls()
  end
  local input = redis.call('HGET', txt, 'i:' .. turn)
  if input and not string.find(input, INPUT) then refuse(txt, 'i:' .. turn) end
  inputs[turn] = input
end

-- Appends the user message of a turn to the log: at its first claim, or when it steers another turn or is replaced.
-- `owner`: owner of the first claim, else nil. Returns nil if the log has the message already.
local function enter_input(turn, closing, owner)
  local hash, field, input = read_turn(turn), 'i:' .. turn, inputs[turn]
  if input == nil then input = redis.call('HGET', txt, field) end
  if not input then
    put(hash, 'state', 'running')
    return nil
  end
  -- A caller with its own model loop may have left open calls, which no user message may follow.
  if has_open_calls() then
    -- @include open-calls
    close_open_calls(turn, closing)
  end
  local tokens, bytes, at = string.match(input, INPUT)
  local message = string.sub(input, at)
  conversation.before_input = { head = conversation.head, tokens = conversation.tokens, bytes = conversation.bytes,
    turns = conversation.turns }
  append_messages({ 1, tokens, bytes, 1, message }, 1, turn)
  redis.call('HDEL', txt, field)
  put(hash, 'state', 'running', 'inputSeq', conversation.head, unpack(owner and { 'firstOwner', owner } or {}))
  return message
end

-- Gives the first turn to a worker. Returns the same values as head_reply.
local function take_head(turn, owner, lease, attempts, closing)
  local message = enter_input(turn, closing, owner)
  save_conversation('epoch', raise_epoch(), 'owner', owner, 'lease', lease, 'attempts', attempts)
  drop(record, 'poison', 'poisoned', 'sweeps', 'alone', 'blocked')
  local hash = read_turn(turn)
  if not message then
    if not value_of(hash, 'firstOwner') then put(hash, 'firstOwner', owner) end
    return head_reply(turn)
  end
  return fields_of(hash), fields_of(record), message
end
