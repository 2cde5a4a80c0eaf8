-- Gives a claimed delivery back until its next attempt, unless another worker has claimed it since.
-- KEYS: outbox, positions. ARGV: name, claim, position, ms until the next attempt
-- @include clock
local name, claim, position, delay_ms = unpack(ARGV)
if redis.call('ZSCORE', KEYS[1], name) == claim then
  redis.call('HSET', KEYS[2], name, position)
  redis.call('ZADD', KEYS[1], now + delay_ms, name)
end
return 0
