-- Needs: keys, ready. All conversations of a shard, as tenant|id: all scores are 0, so that the set is in the order of its members.
local conversations = string.gsub(ready, 'ready$', 'conversations')

local function list_conversation()
  redis.call('ZADD', conversations, 0, tenant .. '|' .. id)
end

local function forget_conversation()
  redis.call('ZREM', conversations, tenant .. '|' .. id)
end
