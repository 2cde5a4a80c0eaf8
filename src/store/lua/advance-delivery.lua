-- Moves a claimed delivery behind an event, and renews the claim. Without a later event the delivery leaves the outbox.
-- KEYS: outbox, positions, events. ARGV: name, claim, id of the last event that was sent, ms of a claim
-- Reply: {new claim, next event}, or {} if no event is left or another worker has the claim
-- @include clock
local name, claim, through, claim_ms = unpack(ARGV)
if redis.call('ZSCORE', KEYS[1], name) ~= claim then return {} end
local following = redis.call('XRANGE', KEYS[3], '(' .. through, '+', 'COUNT', 1)[1]
if not following then
  redis.call('ZREM', KEYS[1], name)
  redis.call('HDEL', KEYS[2], name)
  return {}
end
local renewed = string.format('%.0f', math.max(now + claim_ms, claim + 1))
redis.call('HSET', KEYS[2], name, following[1] .. ' 0')
redis.call('ZADD', KEYS[1], renewed, name)
return { renewed, following }
