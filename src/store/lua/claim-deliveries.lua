-- Claims the deliveries of a shard that are due, oldest first, and reads the first unsent event of each.
-- KEYS: outbox, positions. ARGV: prefix of the shard's keys, limit, ms of a claim
-- Reply: {{name, position, agent or '', claim, event if there is one}…}
-- @include clock
local shard, limit, claim_ms = unpack(ARGV)
local rows = {}
local claim = string.format('%.0f', now + claim_ms)
for _, name in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, limit)) do
  local position = redis.call('HGET', KEYS[2], name)
  local tenant, id = string.match(name, '^[^|]+|([^|]+)|(.+)$')
  if position and id then
    local agent = redis.call('HGET', shard .. tenant .. ':c:' .. id, 'agent')
    local next = string.match(position, '^%S+')
    local event = redis.call('XRANGE', shard .. tenant .. ':ev:' .. id, next, '+', 'COUNT', 1)[1]
    redis.call('ZADD', KEYS[1], claim, name)
    rows[#rows + 1] = { name, position, agent or '', claim, event }
  else
    redis.call('ZREM', KEYS[1], name)
  end
end
return rows
