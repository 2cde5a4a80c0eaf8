-- What of a shard is past its time, which passes are open, how many failed turns are kept, and how many conversations have
-- rested for longer than they may. Writes nothing: doctors ask, too.
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

local function age_of_first(key)
  local first = redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')
  return first[2] and math.max(0, now - first[2]) or 0
end

-- By I6 a pass that has not ended has its ready entry; one that has is left in here by a worker of before this set, until a
-- sweep takes it out.
local open, oldest_open = redis.call('ZCARD', open_passes), 0
local passes = redis.call('ZRANGE', open_passes, 0, tonumber(ARGV[1]) - 1, 'WITHSCORES')
for at = 1, #passes, 2 do
  if not redis.call('ZSCORE', ready, passes[at]) then
    open = open - 1
  elseif oldest_open == 0 then
    oldest_open = math.max(0, now - passes[at + 1])
  end
end
return {
  overdue.t, overdue.p, overdue.d, age_of_first(ready),
  open, oldest_open,
  redis.call('ZCOUNT', failed, string.format('%.0f', now - tonumber(ARGV[2])), '+inf'),
  redis.call('ZCOUNT', resting, '-inf', before), age_of_first(resting),
}
