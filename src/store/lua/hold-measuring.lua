#!lua flags=allow-oom
-- Gives the lease on measuring the shared state to an owner, or renews it, where no other holds it; for 0 ms it ends. On a full Redis, too:
-- that it is full is what has to be extra.
-- KEYS: lease. ARGV: owner, leaseMs
-- Reply: 1 where the owner holds it now
local owner, leaseMs = ARGV[1], tonumber(ARGV[2])
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= owner then return 0 end
if leaseMs > 0 then
  redis.call('SET', KEYS[1], owner, 'PX', leaseMs)
  return 1
end
redis.call('DEL', KEYS[1])
return 0
