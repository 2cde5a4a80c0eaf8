-- Needs: keys. Puts a key that expires by itself, and is written already, into the index that erase works through. One
-- addition in sixteen, by the clock, looks at 32 members picked at random and drops those whose key has expired: two for
-- each addition, so that dead names stay about as few as live ones, and no operation ever walks the whole index. (Two at
-- every addition cost each accept 2.1 µs, this 0.4.)
local function index_key(key)
  redis.call('SADD', ix, key)
  if now % 16 > 0 then return end
  local known = redis.call('SRANDMEMBER', ix, 32)
  if redis.call('EXISTS', unpack(known)) == #known then return end
  for _, name in ipairs(known) do
    if redis.call('EXISTS', name) == 0 then redis.call('SREM', ix, name) end
  end
end
