#!lua flags=allow-oom
-- Removes a worker, unless its key was renewed meanwhile. Runs on a full Redis.
-- KEYS: workers, the worker's key. ARGV: worker, remaining ms above which the key counts as renewed
-- Reply: 1 | 0 if the worker is alive, or another call removed it
local workers, key, worker, renewedMs = KEYS[1], KEYS[2], ARGV[1], tonumber(ARGV[2])
if redis.call('PTTL', key) > renewedMs then return 0 end
redis.call('UNLINK', key)
return redis.call('HDEL', workers, worker)
