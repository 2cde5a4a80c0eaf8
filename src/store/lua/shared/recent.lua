-- Conversations of a tenant in one shard by the time of their last message, in ms. The set `recent` has those of all
-- owners, and each owner has a set. Only lists read these sets, so damage in them ends no script. The name of an owner
-- may contain any character. So the key of its set has a form that no key of a conversation has.
-- @include ready
local tenant_prefix = string.match(ready, '^(.*)ready$') .. tenant .. ':'

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
