#!lua flags=allow-oom
-- Revokes an access key for good, also on a full Redis. The key stays listed for a while.
-- KEYS: key. ARGV: ms for which the key stays listed
-- Reply: {now, {field, value…}}, without fields if the key is unknown
-- @include clock
if redis.call('EXISTS', KEYS[1]) == 1 and redis.call('HSETNX', KEYS[1], 'revokedAt', now) == 1 then
  redis.call('PEXPIRE', KEYS[1], ARGV[1])
end
return { now, redis.call('HGETALL', KEYS[1]) }
