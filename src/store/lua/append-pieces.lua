-- Adds pieces of a model call, or notes of tool calls, to the stream of a turn. The stream must exist, and the caller
-- own the turn (I4). Beyond the limit of bytes, the older half of the stream is removed.
-- `bytes`: size of the pieces. The fields of the batch follow.
-- Reply: 'appended' | 'not_followed' | 'fenced'
-- @keys c, mb, turnKey, stream
-- @args turn, owner, epoch, maxBatches, maxBytes, bytes, ...
local present_owner, present_epoch = unpack(redis.call('HMGET', c, 'owner', 'epoch'))
if present_owner ~= owner or present_epoch ~= epoch or redis.call('LINDEX', mb, 0) ~= turn then return 'fenced' end
if not redis.call('XADD', stream, 'NOMKSTREAM', 'MAXLEN', '~', maxBatches, '*', unpack(ARGV, rest)) then
  return 'not_followed'
end
if redis.call('HINCRBY', turnKey, 'streamed', bytes) > tonumber(maxBytes) then
  redis.call('XTRIM', stream, 'MAXLEN', math.floor(redis.call('XLEN', stream) / 2))
  redis.call('HSET', turnKey, 'streamed', math.floor(redis.call('HGET', turnKey, 'streamed') / 2))
end
redis.call('PUBLISH', stream, '')
return 'appended'
