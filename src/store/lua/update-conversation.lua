-- Changes owner, title or metadata of a conversation. Each is '' to keep the value, '-' to remove it, or '=' and the new
-- value.
-- Reply: as read-about, after the change
-- @args newOwner, newTitle, newMetadata
-- @include keys
-- @include about
if redis.call('EXISTS', gone) == 1 or redis.call('HEXISTS', c, 'schema') == 0 then return {} end

local function change(hash, field, given)
  if given == '-' then redis.call('HDEL', hash, field) end
  if string.sub(given, 1, 1) == '=' then redis.call('HSET', hash, field, string.sub(given, 2)) end
end

if newOwner ~= '' then
  forget_owner(redis.call('HGET', c, 'ownedBy'))
  change(c, 'ownedBy', newOwner)
  local at = redis.pcall('ZSCORE', tenant_prefix .. 'recent', id)
  touch_conversation(redis.call('HGET', c, 'ownedBy'), type(at) == 'string' and at or nil)
end
change(c, 'title', newTitle)
change(txt, METADATA, newMetadata)
return about_reply()
