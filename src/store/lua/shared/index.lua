-- @include key-names
-- Adds the name of an expiring key to the index, so that an erase finds the key. The key must exist. One addition in
-- sixteen, chosen by the clock, checks 32 random names and drops those of expired keys. So at most about half of the
-- names are expired, and no addition reads the whole index.
local function index_key(name)
  redis.call('HSET', ix, name, '')
  if now % 16 > 0 then return end
  -- @include index-names
  local names, keys = redis.call('HRANDFIELD', ix, 32), {}
  for at, known in ipairs(names) do keys[at] = key_of(known) or gone end
  if redis.call('EXISTS', unpack(keys)) == #keys then return end
  for at, known in ipairs(names) do
    if redis.call('EXISTS', keys[at]) == 0 then redis.call('HDEL', ix, known) end
  end
end
