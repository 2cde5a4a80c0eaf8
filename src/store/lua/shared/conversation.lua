-- Requires: keys. Defines: conversation, head_turn, steered_turns, next_turn, read_conversation, save_conversation.
-- read_conversation sets the four variables. `conversation` holds owner, epoch, end of the log, idle TTL, newest answered
-- version and the time of the last settlement. `head_turn` is the id of the first turn of the mailbox. `steered_turns` are the ids of the turns whose
-- messages went into the head turn. They stand directly behind it. `next_turn` is the id of the turn behind those.
local conversation, head_turn, steered_turns, next_turn

local TURN_FIELDS = { 'state', 'inputTokens', 'outputTokens', 'cachedTokens', 'costMicros', 'waitUntil', 'dueAt',
  'suspended', 'waitOpen' }

-- A script may write to these turns before it has read all of their fields. So the numbers in each are checked first.
local function check_turn(turn)
  local key = turn_prefix .. turn
  if has_other_type('HLEN', key) then refuse(key, '') end
  local field, values = find_no_number(key, TURN_FIELDS)
  if field or not values[1] then refuse(key, field or 'state') end
end

local function read_conversation()
  local owner, epoch, head, tokens, bytes, turns, ttl, last_turn, answered =
    unpack(redis.call('HMGET', c, 'owner', 'epoch', 'head', 'headTokens', 'headBytes', 'turns', 'ttl', 'last', 'answered'))
  conversation = { owner = owner, epoch = epoch, head = tonumber(head or 0), tokens = tonumber(tokens or 0),
    bytes = tonumber(bytes or 0), turns = tonumber(turns or 0), ttl = ttl, answered = tonumber(answered or -1),
    settled = tonumber(string.match(last_turn or '', '%d+$') or 0) }
  head_turn, next_turn = unpack(redis.call('LRANGE', mb, 0, 1))
  if head_turn then check_turn(head_turn) end
  if next_turn then check_turn(next_turn) end
  steered_turns = {}
  while next_turn and redis.call('HEXISTS', turn_prefix .. next_turn, 'steeredInto') == 1 do
    steered_turns[#steered_turns + 1] = next_turn
    next_turn = redis.call('LINDEX', mb, #steered_turns + 1)
    if next_turn then check_turn(next_turn) end
  end
end

-- Stores the new end of the log, and further fields (names and values), in one HSET.
local function save_conversation(...)
  redis.call('HSET', c, 'head', conversation.head, 'headTokens', string.format('%.0f', conversation.tokens),
    'headBytes', string.format('%.0f', conversation.bytes), 'turns', conversation.turns, ...)
end
