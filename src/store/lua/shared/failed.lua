-- Needs: keys, ready. The failed turns of a shard by when they were settled: in its slot, and as long as the turns are kept.
-- @include waiting
local failed = string.gsub(ready, 'ready$', 'failed')

local function failed_member(turn)
  return tenant .. '|' .. id .. '|' .. turn
end

local function list_failed(turn, at, retentionMs)
  redis.call('ZREMRANGEBYSCORE', failed, '-inf', string.format('%.0f', now - tonumber(retentionMs)))
  redis.call('ZADD', failed, at, failed_member(turn))
end

-- Of an erased turn nothing stays in the sets of the shard.
local function forget_turn(turn)
  forget_waiting(turn)
  unschedule(scheduled_member(turn))
  redis.call('ZREM', failed, failed_member(turn))
end
