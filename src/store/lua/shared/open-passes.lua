-- The sorted set `passes` has the compaction passes of a shard that wait for a worker or have one, by the time of their
-- request. Only gauges use it. Passes under review are not in it.
-- @include ready
-- @include record
local open_passes = string.gsub(ready, 'ready$', 'passes')

local function add_open_pass()
  redis.call('ZADD', open_passes, 'NX', string.format('%.0f', now), pass_member)
end

local function remove_open_pass()
  redis.call('ZREM', open_passes, pass_member)
end

-- Creates a pass. Further arguments: names and values of other fields.
local function create_pass(passId, wake, ...)
  redis.call('HSET', pass, 'passId', passId, 'wake', wake, 'attempts', 0, 'requestedAt', string.format('%.0f', now), ...)
  put(record, 'pass', passId)
  add_open_pass()
  schedule(pass_member, now + WAKE_GRACE_MS)
end
