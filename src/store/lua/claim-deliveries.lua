-- Claims the deliveries of a shard that are due, oldest first, and reads the first unsent event of each.
-- Reply: {{name, position, agent or '', claim, event if there is one}…}
-- @keys outbox, positions
-- @args shard, limit, claimMs
-- @include clock
local rows = {}
local claim = string.format('%.0f', now + claimMs)
for _, name in ipairs(redis.call('ZRANGEBYSCORE', outbox, '-inf', now, 'LIMIT', 0, limit)) do
  local position = redis.call('HGET', positions, name)
  local tenant, id = string.match(name, '^[^|]+|([^|]+)|(.+)$')
  if position and id then
    local agent = redis.call('HGET', shard .. tenant .. ':c:' .. id, 'agent')
    local unsent = string.match(position, '^%S+')
    local event = redis.call('XRANGE', shard .. tenant .. ':ev:' .. id, unsent, '+', 'COUNT', 1)[1]
    redis.call('ZADD', outbox, claim, name)
    rows[#rows + 1] = { name, position, agent or '', claim, event }
  else
    redis.call('ZREM', outbox, name)
  end
end
return rows
