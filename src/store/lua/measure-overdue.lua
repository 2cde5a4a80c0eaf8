-- How many entries of a shard are past their time, and since when the oldest is.
-- KEYS: ready
-- Reply: {count, ms}
-- @include clock
local count = redis.call('ZCOUNT', KEYS[1], '-inf', '(' .. string.format('%.0f', now))
if count == 0 then return { 0, 0 } end
return { count, now - redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2] }
