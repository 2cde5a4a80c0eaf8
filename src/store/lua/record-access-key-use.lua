-- Records the use of an access key. Nothing is written if the recorded use is younger than `use_ms`, or if the key is
-- unknown or revoked.
-- KEYS: key. ARGV: use_ms
-- @include clock
local created, used, revoked = unpack(redis.call('HMGET', KEYS[1], 'createdAt', 'usedAt', 'revokedAt'))
if created and not revoked and now - (used or 0) >= tonumber(ARGV[1]) then redis.call('HSET', KEYS[1], 'usedAt', now) end
return 0
