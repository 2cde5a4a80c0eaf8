-- Records a failed request of a webhook. The webhook is set aside once it has failed for `deadAfterMs` without a
-- success.
-- Reply: 1 if this failure sets the webhook aside
-- @keys webhooks, health
-- @args id, why, deadAfterMs
-- @include clock
if redis.call('HEXISTS', webhooks, id) == 0 then return 0 end
redis.call('HINCRBY', health, 'failures', 1)
redis.call('HSETNX', health, 'failingSince', now)
redis.call('HSET', health, 'lastFailure', why)
if now - redis.call('HGET', health, 'failingSince') < tonumber(deadAfterMs) then return 0 end
return redis.call('HSETNX', health, 'deadAt', now)
