-- What of a shard is past its time, which passes are open, how many failed turns are kept, and how many conversations have
-- rested for longer than they may.
-- KEYS: ready, open passes, failed, resting. ARGV: most entries that are counted by kind, retentionMs
-- Reply: {overdue turns, passes, scheduled turns, ms of the oldest, open passes, ms of the oldest, failed turns,
-- overdue resting conversations, ms of the oldest}
-- @include clock
local ready, open_passes, failed, resting = unpack(KEYS)
local overdue = { t = 0, p = 0, d = 0 }
local before = '(' .. string.format('%.0f', now)
for _, member in ipairs(redis.call('ZRANGEBYSCORE', ready, '-inf', before, 'LIMIT', 0, ARGV[1])) do
  local kind = string.sub(member, 1, 1)
  overdue[kind] = overdue[kind] + 1
end

-- A worker of before this set ends a pass and leaves it in here. By I6 a pass that has not ended has its ready entry.
for _, member in ipairs(redis.call('ZRANGE', open_passes, 0, tonumber(ARGV[1]) - 1)) do
  if not redis.call('ZSCORE', ready, member) then redis.call('ZREM', open_passes, member) end
end

local function age_of_first(key)
  local first = redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')
  return first[2] and math.max(0, now - first[2]) or 0
end
return {
  overdue.t, overdue.p, overdue.d, age_of_first(ready),
  redis.call('ZCARD', open_passes), age_of_first(open_passes),
  redis.call('ZCOUNT', failed, string.format('%.0f', now - tonumber(ARGV[2])), '+inf'),
  redis.call('ZCOUNT', resting, '-inf', before), age_of_first(resting),
}
