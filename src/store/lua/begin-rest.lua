-- Begins the rest of a conversation anew: somebody reads it for longer than one look. Without a time to live it does nothing.
-- Reply: 1
-- @include keys
-- @include ready
-- @include rest
local known = redis.call('HGET', c, 'ttl')
if known then begin_rest(known) end
return 1
