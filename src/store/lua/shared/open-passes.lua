-- Requires: keys, ready. Defines: open_passes, add_open_pass, remove_open_pass. The sorted set contains the compaction
-- passes of a shard that wait for a worker or have one, by the time of their request. Only gauges use it. A pass whose
-- proposal a person reviews is not in the set.
local open_passes = string.gsub(ready, 'ready$', 'passes')

local function add_open_pass()
  redis.call('ZADD', open_passes, 'NX', string.format('%.0f', now), pass_member)
end

local function remove_open_pass()
  redis.call('ZREM', open_passes, pass_member)
end
