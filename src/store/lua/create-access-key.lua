-- Stores a new access key, and lists it. An access key that exists already stays unchanged.
-- KEYS: key, all keys. ARGV: id, tenant, name, scopes, hash of the secret, ms until the key expires or ''
-- Reply: {now, {field, value…}} of the key
-- @include clock
local id, tenant, name, scopes, hash, expires_in = unpack(ARGV)
if redis.call('EXISTS', KEYS[1]) == 0 then
  redis.call('HSET', KEYS[1], 'tenant', tenant, 'name', name, 'scopes', scopes, 'hash', hash, 'createdAt', now)
  if expires_in ~= '' then redis.call('HSET', KEYS[1], 'expiresAt', now + expires_in) end
  redis.call('ZADD', KEYS[2], 0, tenant .. '|' .. id)
end
return { now, redis.call('HGETALL', KEYS[1]) }
