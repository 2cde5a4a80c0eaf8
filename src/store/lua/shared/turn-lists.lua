-- Two sorted sets of a shard, from which clients list turns.
-- @include ready

-- Turns that wait for results or approvals from outside, as tenant|kind|id|turn. All their scores are 0, so their
-- members order this set.
local waiting = string.gsub(ready, 'ready$', 'waiting')
local ANSWERED = { tools = true, approval = true }

local function waiting_member(kind, turn)
  return tenant .. '|' .. kind .. '|' .. id .. '|' .. turn
end

local function list_waiting(kind, turn)
  if ANSWERED[kind] then redis.call('ZADD', waiting, 0, waiting_member(kind, turn)) end
end

local function forget_waiting(turn)
  redis.call('ZREM', waiting, waiting_member('tools', turn), waiting_member('approval', turn))
end

-- Failed turns by the time of settlement, for as long as their records are kept.
local failed = string.gsub(ready, 'ready$', 'failed')

local function failed_member(turn)
  return tenant .. '|' .. id .. '|' .. turn
end

local function list_failed(turn, at, retentionMs)
  redis.call('ZREMRANGEBYSCORE', failed, '-inf', string.format('%.0f', now - tonumber(retentionMs)))
  redis.call('ZADD', failed, at, failed_member(turn))
end

local function forget_turn(turn)
  forget_waiting(turn)
  unschedule(scheduled_member(turn))
  redis.call('ZREM', failed, failed_member(turn))
end
