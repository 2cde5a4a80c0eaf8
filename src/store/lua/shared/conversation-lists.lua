-- Lists of the conversations of a shard.
-- @include ready
local shard_prefix = string.match(ready, '^(.*)ready$')

-- All conversations, as tenant|id. All their scores are 0, so their members order this set.
local conversations = shard_prefix .. 'conversations'

local function list_conversation()
  redis.call('ZADD', conversations, 0, tenant .. '|' .. id)
end

local function forget_conversation()
  redis.call('ZREM', conversations, tenant .. '|' .. id)
end

-- Conversations of a tenant by the time of their last message, in ms. The set `recent` has those of all owners, and each
-- owner has a set. Only lists read these sets, so damage in them ends no script. The name of an owner may contain any
-- character. So the key of its set has a form that no key of a conversation has.
local tenant_prefix = shard_prefix .. tenant .. ':'

-- `owner`: false or '' if the conversation has none.
local function touch_conversation(owner, at)
  redis.pcall('ZADD', tenant_prefix .. 'recent', at or now, id)
  if owner and owner ~= '' then redis.pcall('ZADD', tenant_prefix .. 'by-owner:' .. owner, at or now, id) end
end

local function forget_owner(owner)
  if owner and owner ~= '' then redis.pcall('ZREM', tenant_prefix .. 'by-owner:' .. owner, id) end
end

local function forget_recent()
  redis.pcall('ZREM', tenant_prefix .. 'recent', id)
  local owner = redis.pcall('HGET', c, 'ownedBy')
  if type(owner) == 'string' then forget_owner(owner) end
end
