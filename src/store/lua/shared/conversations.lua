-- Requires: keys, ready. Defines: conversations, list_conversation, forget_conversation.
-- The set holds all conversations of a shard as tenant|id. All scores are 0, so the set is ordered by its members.
local conversations = string.gsub(ready, 'ready$', 'conversations')

local function list_conversation()
  redis.call('ZADD', conversations, 0, tenant .. '|' .. id)
end

local function forget_conversation()
  redis.call('ZREM', conversations, tenant .. '|' .. id)
end
