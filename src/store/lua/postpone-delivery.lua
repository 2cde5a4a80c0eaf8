-- Gives a claimed delivery back until its next attempt, unless another worker has claimed the delivery since.
-- @keys outbox, positions
-- @args name, claim, position, delayMs
-- @include clock
if redis.call('ZSCORE', outbox, name) == claim then
  redis.call('HSET', positions, name, position)
  redis.call('ZADD', outbox, now + delayMs, name)
end
return 0
