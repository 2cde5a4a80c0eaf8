-- Records a failed request of a webhook. The webhook is set aside once it has failed for `dead_after` without a success.
-- KEYS: webhooks, health of the webhook. ARGV: id, reason, dead_after in ms
-- Reply: 1 if this failure sets the webhook aside
-- @include clock
local id, why, dead_after = unpack(ARGV)
if redis.call('HEXISTS', KEYS[1], id) == 0 then return 0 end
redis.call('HINCRBY', KEYS[2], 'failures', 1)
redis.call('HSETNX', KEYS[2], 'failingSince', now)
redis.call('HSET', KEYS[2], 'lastFailure', why)
if now - redis.call('HGET', KEYS[2], 'failingSince') < tonumber(dead_after) then return 0 end
return redis.call('HSETNX', KEYS[2], 'deadAt', now)
