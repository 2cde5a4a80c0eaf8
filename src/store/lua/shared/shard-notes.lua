-- Requires: keys, ready. Defines: forget_notes. Removes an erased conversation from two hashes of its shard: the outbox of
-- webhooks, and the quarantine. The outbox may belong to a removed webhook. An erase goes on if a hash is damaged.
local shard_prefix = string.match(ready, '^(.*)ready$')
local framed_name = '|' .. tenant .. '|' .. id .. '|'

-- Fields of the quarantine name an entry of a set, or a whole key.
local function names_conversation(field)
  if string.find(field .. '|', framed_name, 1, true) then return true end
  local key_tenant, key_id = string.match(field, '^key|{[^}]+}:([^:]+):%l+:([^:]+)')
  return key_tenant == tenant and key_id == id
end

local function remove_fields(hash)
  local removed, cursor = {}, '0'
  repeat
    local reply = redis.pcall('HSCAN', hash, cursor, 'COUNT', 1000)
    if reply.err then break end
    cursor = reply[1]
    for at = 1, #reply[2], 2 do
      local field = reply[2][at]
      if names_conversation(field) then
        redis.call('HDEL', hash, field)
        removed[#removed + 1] = field
      end
    end
  until cursor == '0'
  return removed
end

local function forget_notes()
  for _, name in ipairs(remove_fields(shard_prefix .. 'outbox:positions')) do
    redis.pcall('ZREM', shard_prefix .. 'outbox', name)
  end
  remove_fields(shard_prefix .. 'quarantined')
end
