-- The state of a conversation and of the turns in its mailbox. read_conversation sets these variables. `head_turn` is
-- the first turn of the mailbox. Behind it stand the turns whose messages were appended to it (`steered_turns`), then
-- `next_turn`.
-- @include validate
local conversation, head_turn, steered_turns, next_turn

local TURN_NUMBERS = { 'state', 'inputTokens', 'outputTokens', 'cachedTokens', 'costMicros', 'waitUntil', 'dueAt',
  'suspended', 'waitOpen' }
-- Fields of a turn that most scripts read.
local TURN_FIELDS = { 'inputSeq', 'requestTokens', 'hasContext', 'hasOwn', 'acceptedAt', 'firstOwner', 'waitStep',
  'steeredInto', unpack(TURN_NUMBERS) }
local turns = {}

-- Reads a turn, and checks its numbers, because a script may write before it reads further fields of the turn.
-- `is_whole`: reads all fields at once. The first turn may have 1,000 steps and large answers, so only a claim reads it
-- whole.
local function read_turn(turn, is_whole)
  local hash = turns[turn]
  if hash then return hash end
  hash = { key = turnPrefix .. turn, values = {} }
  turns[turn] = hash
  if is_whole then read_all(hash) else read_fields(hash, TURN_FIELDS) end
  local field = find_bad_number(hash, TURN_NUMBERS)
  if field or not hash.values.state then refuse(hash.key, field or 'state') end
  return hash
end

local function read_conversation(is_head_whole)
  local problem = record.is_whole == nil and find_bad_record()
  if problem then error(problem, 0) end
  conversation = { owner = value_of(record, 'owner'), epoch = value_of(record, 'epoch'), ttl = value_of(record, 'ttl'),
    head = tonumber(value_of(record, 'head') or 0), tokens = tonumber(value_of(record, 'headTokens') or 0),
    bytes = tonumber(value_of(record, 'headBytes') or 0), turns = tonumber(value_of(record, 'turns') or 0),
    answered = tonumber(value_of(record, 'answered') or -1),
    settled = tonumber(string.match(value_of(record, 'last') or '', '%d+$') or 0) }
  head_turn, next_turn = unpack(redis.call('LRANGE', mb, '0', '1'))
  if head_turn then read_turn(head_turn, is_head_whole) end
  steered_turns = {}
  while next_turn and value_of(read_turn(next_turn, true), 'steeredInto') do
    steered_turns[#steered_turns + 1] = next_turn
    next_turn = redis.call('LINDEX', mb, #steered_turns + 1)
  end
end

-- True for the first turn of the mailbox, and for the turns that end together with that turn.
local function ends_with_head(turn)
  for _, steered in ipairs(steered_turns) do
    if steered == turn then return true end
  end
  return head_turn == turn
end

-- True if packing may save memory. isWorthPacking in domain/log-packing.ts has the same rule.
local function has_enough_to_pack()
  return conversation.head - tonumber(value_of(record, 'packed') or 0) > 8 or conversation.bytes >= 4096
end

-- Stores the end of the log, staged fields, and further fields (names and values) in one HSET.
local function save_conversation(...)
  put(record, 'head', conversation.head, 'headTokens', string.format('%.0f', conversation.tokens),
    'headBytes', string.format('%.0f', conversation.bytes), 'turns', conversation.turns, ...)
end

-- Returns nil if the caller owns the first turn under its epoch (I4), or why it does not. An erase or a cancel removes
-- the owner, so the reason is looked up only if the check fails. Epochs only grow. If the epoch is missing, or lower
-- than the caller's, the conversation was created again (gone), or the database lost the claim (unclaimed).
local function find_loss(turn, owner, epoch)
  if conversation.owner == owner and conversation.epoch == epoch and head_turn == turn then return nil end
  if redis.call('EXISTS', gone) == 1 then return 'gone' end
  if redis.call('HGET', turnPrefix .. turn, 'state') == 'canceled' then return 'canceled' end
  if tonumber(conversation.epoch or 0) >= tonumber(epoch) then return 'fenced' end
  return redis.call('HEXISTS', c, 'recreated') == 1 and 'gone' or 'unclaimed'
end

-- Returns a new epoch, which fences former owners. The new epoch is at least the present time, so an epoch never
-- repeats, not even after an erase. The calling script stores the epoch.
local function raise_epoch()
  conversation.epoch = string.format('%.0f', math.max(tonumber(conversation.epoch or 0) + 1, now))
  return conversation.epoch
end
