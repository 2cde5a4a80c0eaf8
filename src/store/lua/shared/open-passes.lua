-- Needs: keys, ready. The passes of a shard that wait for a worker or have one, by when they were asked for: to be measured,
-- nothing else. One that waits for somebody's decision is not among them.
local open_passes = string.gsub(ready, 'ready$', 'passes')

local function add_open_pass()
  redis.call('ZADD', open_passes, 'NX', string.format('%.0f', now), pass_member)
end

local function remove_open_pass()
  redis.call('ZREM', open_passes, pass_member)
end
