-- Requires: keys, ready. Defines: failed, list_failed, forget_turn.
-- The set holds the failed turns of a shard by the time of their settlement. Each stays as long as its record is kept.
-- @include waiting
local failed = string.gsub(ready, 'ready$', 'failed')

local function failed_member(turn)
  return tenant .. '|' .. id .. '|' .. turn
end

local function list_failed(turn, at, retentionMs)
  redis.call('ZREMRANGEBYSCORE', failed, '-inf', string.format('%.0f', now - tonumber(retentionMs)))
  redis.call('ZADD', failed, at, failed_member(turn))
end

-- Removes an erased turn from the shard's sets of failed and of waiting turns.
local function forget_turn(turn)
  forget_waiting(turn)
  unschedule(scheduled_member(turn))
  redis.call('ZREM', failed, failed_member(turn))
end
