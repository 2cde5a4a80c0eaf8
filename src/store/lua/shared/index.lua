-- Requires: keys. Defines: index_key. Adds the name of an expiring key to the conversation's index, so that an erase finds
-- the key. The key must exist. One addition in sixteen, chosen by the clock, checks 32 random names and drops those whose
-- key does not exist. That is two checked names per addition on average. So at most about half of the names are expired,
-- and no operation reads the whole index. The cost is 0.4 µs per accepted turn. Checking two names at every addition cost
-- 2.1 µs.
local function index_key(key)
  redis.call('SADD', ix, key)
  if now % 16 > 0 then return end
  local names = redis.call('SRANDMEMBER', ix, 32)
  if redis.call('EXISTS', unpack(names)) == #names then return end
  for _, name in ipairs(names) do
    if redis.call('EXISTS', name) == 0 then redis.call('SREM', ix, name) end
  end
end
