-- Restarts the idle TTL of a conversation while a client reads it for long. Without a TTL it does nothing.
-- Reply: 1
-- @include keys
-- @include ready
-- @include idle-ttl
local known = redis.call('HGET', c, 'ttl')
if known then start_idle_ttl(known) end
return 1
