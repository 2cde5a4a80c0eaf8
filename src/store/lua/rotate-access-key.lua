-- Replaces the secret of an access key. The secret before it stays valid for a while. A key that is unknown, revoked or
-- has this secret stays unchanged.
-- KEYS: key. ARGV: hash of the new secret, ms for which the present secret stays valid
-- Reply: {now, {field, value…}}, without fields if the key is unknown
-- @include clock
local hash, revoked = unpack(redis.call('HMGET', KEYS[1], 'hash', 'revokedAt'))
if hash and not revoked and hash ~= ARGV[1] then
  redis.call('HSET', KEYS[1], 'hash', ARGV[1], 'previousHash', hash, 'previousUntil', now + ARGV[2], 'rotatedAt', now)
end
return { now, redis.call('HGETALL', KEYS[1]) }
