-- Moves a claimed delivery past the event that was sent, and renews the claim. If there is no later event, the delivery
-- leaves the outbox. `sentId`: id of the last event that was sent.
-- Reply: {new claim, next event}, or {} if no event is left or another worker has the claim
-- @keys outbox, positions, events
-- @args name, claim, sentId, claimMs
-- @include clock
if redis.call('ZSCORE', outbox, name) ~= claim then return {} end
local following = redis.call('XRANGE', events, '(' .. sentId, '+', 'COUNT', 1)[1]
if not following then
  redis.call('ZREM', outbox, name)
  redis.call('HDEL', positions, name)
  return {}
end
local renewed = string.format('%.0f', math.max(now + claimMs, claim + 1))
redis.call('HSET', positions, name, following[1] .. ' 0')
redis.call('ZADD', outbox, renewed, name)
return { renewed, following }
