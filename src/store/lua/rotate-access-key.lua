-- Replaces the secret of an access key. The former secret stays valid for a while. If the key is unknown, is revoked,
-- or has the new secret already, nothing changes.
-- `newHash`: of the new secret. `graceMs`: ms for which the present secret stays valid.
-- Reply: {now, {field, value…}}, without fields if the key is unknown
-- @keys key
-- @args newHash, graceMs
-- @include clock
local hash, revoked = unpack(redis.call('HMGET', key, 'hash', 'revokedAt'))
if hash and not revoked and hash ~= newHash then
  redis.call('HSET', key, 'hash', newHash, 'previousHash', hash, 'previousUntil', now + graceMs, 'rotatedAt', now)
end
return { now, redis.call('HGETALL', key) }
