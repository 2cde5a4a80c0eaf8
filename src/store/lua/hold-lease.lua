#!lua flags=allow-oom
-- Gives the owner a lease to work for all workers, unless another worker has it. 0 ms gives the lease back. Runs on a
-- full Redis, because gauges must report that Redis is full, and a sweep frees memory.
-- Reply: the time in ms if the owner has the lease now, else 0
-- @keys lease
-- @args owner, leaseMs
-- @include clock
-- A lease without an expiry would never lapse.
if redis.call('PTTL', lease) == -1 then redis.call('UNLINK', lease) end
local holder = redis.pcall('GET', lease)
if holder and holder ~= owner then return 0 end
if tonumber(leaseMs) > 0 then
  redis.call('SET', lease, owner, 'PX', leaseMs)
  return now
end
redis.call('DEL', lease)
return 0
