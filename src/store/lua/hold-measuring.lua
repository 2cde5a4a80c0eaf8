#!lua flags=allow-oom
-- Gives one worker the lease to measure the state that all workers share, unless another worker has the lease. With 0 ms
-- the lease is given back. The script runs on a full Redis, because the gauges must report that Redis is full.
-- KEYS: lease. ARGV: owner, leaseMs
-- Reply: 1 if the owner has the lease now
local owner, leaseMs = ARGV[1], tonumber(ARGV[2])
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= owner then return 0 end
if leaseMs > 0 then
  redis.call('SET', KEYS[1], owner, 'PX', leaseMs)
  return 1
end
redis.call('DEL', KEYS[1])
return 0
