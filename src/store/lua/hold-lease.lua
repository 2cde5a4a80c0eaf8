#!lua flags=allow-oom
-- Gives the owner a lease to work for all workers, unless another worker has it. 0 ms gives the lease back. Runs on a
-- full Redis, because gauges must report that Redis is full, and a sweep frees memory.
-- KEYS: lease. ARGV: owner, leaseMs
-- Reply: the time in ms if the owner has the lease now, else 0
-- @include clock
local owner, leaseMs = ARGV[1], tonumber(ARGV[2])
-- A lease without an expiry would never lapse.
if redis.call('PTTL', KEYS[1]) == -1 then redis.call('UNLINK', KEYS[1]) end
local holder = redis.pcall('GET', KEYS[1])
if holder and holder ~= owner then return 0 end
if leaseMs > 0 then
  redis.call('SET', KEYS[1], owner, 'PX', leaseMs)
  return now
end
redis.call('DEL', KEYS[1])
return 0
