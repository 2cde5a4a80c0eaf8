-- Stores a new access key, and lists it. An access key that exists already stays unchanged.
-- `keys`: the list of all access keys. `hash`: of the secret.
-- Reply: {now, {field, value…}} of the key
-- @keys key, keys
-- @args id, tenant, name, scopes, hash, expiresInMs
-- @include clock
if redis.call('EXISTS', key) == 0 then
  redis.call('HSET', key, 'tenant', tenant, 'name', name, 'scopes', scopes, 'hash', hash, 'createdAt', now)
  if expiresInMs ~= '' then redis.call('HSET', key, 'expiresAt', now + expiresInMs) end
  redis.call('ZADD', keys, 0, tenant .. '|' .. id)
end
return { now, redis.call('HGETALL', key) }
