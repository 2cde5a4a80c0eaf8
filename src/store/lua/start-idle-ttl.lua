-- Restarts the idle TTL of a conversation that has one, because a client is still reading.
-- Reply: 1
-- @include keys
-- @include idle-ttl
local known = redis.call('HGET', c, 'ttl')
if known then start_idle_ttl(known) end
return 1
