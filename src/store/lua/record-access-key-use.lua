-- Records the use of an access key. Nothing is written if the recorded use is younger than `useMs`, or if the key is
-- unknown or revoked.
-- @keys key
-- @args useMs
-- @include clock
local created, used, revoked = unpack(redis.call('HMGET', key, 'createdAt', 'usedAt', 'revokedAt'))
if created and not revoked and now - (used or 0) >= tonumber(useMs) then redis.call('HSET', key, 'usedAt', now) end
return 0
