-- Needs: keys. What every turn script knows of its conversation, read once: who holds it, where its log ends, its open
-- calls, its time to live, when a turn of it settled last; the head turn and the one behind it.
local conversation, head_turn, next_turn

local function read_conversation()
  local owner, epoch, head, tokens, bytes, turns, open, ttl, settled =
    unpack(redis.call('HMGET', c, 'owner', 'epoch', 'head', 'ht', 'hb', 'turns', 'open', 'ttl', 'settled'))
  conversation = { owner = owner, epoch = epoch, head = tonumber(head or 0), tokens = tonumber(tokens or 0),
    bytes = tonumber(bytes or 0), turns = tonumber(turns or 0), open = open or '', ttl = ttl,
    settled = tonumber(settled or 0) }
  head_turn, next_turn = unpack(redis.call('LRANGE', mb, 0, 1))
end

-- Writes where the log ends and, in the same HSET, what else changes: names and values.
local function save_conversation(...)
  redis.call('HSET', c, 'head', conversation.head, 'ht', string.format('%.0f', conversation.tokens),
    'hb', string.format('%.0f', conversation.bytes), 'turns', conversation.turns, ...)
end
