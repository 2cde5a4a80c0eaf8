-- Records the use of an access key. A use within `use_ms` of the recorded use is not recorded, and neither is a use of a key
-- that is unknown or revoked.
-- KEYS: key. ARGV: use_ms
-- @include clock
local created, used, revoked = unpack(redis.call('HMGET', KEYS[1], 'createdAt', 'usedAt', 'revokedAt'))
if created and not revoked and now - (used or 0) >= tonumber(ARGV[1]) then redis.call('HSET', KEYS[1], 'usedAt', now) end
return 0
