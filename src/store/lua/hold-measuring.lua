#!lua flags=allow-oom
-- Grants or renews the lease on measuring the shared state, unless another owner has it. 0 ms gives it back.
-- It runs on a full Redis, because gauges must report that.
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
