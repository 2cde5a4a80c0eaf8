#!lua flags=allow-oom
-- Revokes an access key for good, also on a full Redis. The key stays listed for a while.
-- `listedMs`: ms for which the key stays listed.
-- Reply: {now, {field, value…}}, without fields if the key is unknown
-- @keys key
-- @args listedMs
-- @include clock
if redis.call('EXISTS', key) == 1 and redis.call('HSETNX', key, 'revokedAt', now) == 1 then
  redis.call('PEXPIRE', key, listedMs)
end
return { now, redis.call('HGETALL', key) }
