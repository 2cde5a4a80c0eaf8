-- Creates the stream of an unsettled turn. From then on workers write the pieces of its model calls.
-- Reply: 1 if the stream exists, else 0
-- @args turn
-- @include index
local key, stream = turnPrefix .. turn, streamPrefix .. turn
if redis.call('EXISTS', stream) == 1 then return 1 end
local state, settled_at = unpack(redis.call('HMGET', key, 'state', 'settledAt'))
if not state or settled_at or redis.call('EXISTS', gone) == 1 then return 0 end
redis.call('HLEN', ix) -- fails here, before the first write, if the index has the wrong type
redis.call('XADD', stream, '*', 'followed', string.format('%.0f', now))
index_key('out:' .. turn)
return 1
