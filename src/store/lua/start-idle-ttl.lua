-- Begins the rest of a conversation anew: somebody reads it for longer than one look. Without a time to live it does nothing.
-- Reply: 1
-- @include keys
-- @include ready
-- @include idle-ttl
local known = redis.call('HGET', c, 'ttl')
if known then start_idle_ttl(known) end
return 1
