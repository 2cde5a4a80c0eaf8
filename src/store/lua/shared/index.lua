-- Needs: keys. Puts a key that expires by itself into the index that erase works through. Two members picked at random are
-- looked at each time and dropped where their key has expired: so dead names stay about as few as live ones, and no
-- operation ever walks the whole index.
local function index_key(key)
  redis.call('SADD', ix, key)
  for _, known in ipairs(redis.call('SRANDMEMBER', ix, 2)) do
    if redis.call('EXISTS', known) == 0 then redis.call('SREM', ix, known) end
  end
end
