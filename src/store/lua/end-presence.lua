#!lua flags=allow-oom
-- Removes a worker, unless its key was renewed meanwhile. Runs on a full Redis.
-- `renewedMs`: a key that has more than this many ms to live counts as renewed.
-- Reply: 1 | 0 if the worker is alive, or another call removed it
-- @keys workers, key
-- @args worker, renewedMs
if redis.call('PTTL', key) > tonumber(renewedMs) then return 0 end
redis.call('UNLINK', key)
return redis.call('HDEL', workers, worker)
