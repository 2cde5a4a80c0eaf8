-- Replaces the secret of an access key. The former secret stays valid for a while. If the key is unknown, is revoked,
-- or has the new secret already, nothing changes.
-- KEYS: key. ARGV: hash of the new secret, ms for which the present secret stays valid
-- Reply: {now, {field, value…}}, without fields if the key is unknown
-- @include clock
local hash, revoked = unpack(redis.call('HMGET', KEYS[1], 'hash', 'revokedAt'))
if hash and not revoked and hash ~= ARGV[1] then
  redis.call('HSET', KEYS[1], 'hash', ARGV[1], 'previousHash', hash, 'previousUntil', now + ARGV[2], 'rotatedAt', now)
end
return { now, redis.call('HGETALL', KEYS[1]) }
