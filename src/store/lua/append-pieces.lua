-- Adds pieces of a model call to the stream of a turn, if the stream exists and the caller owns the turn (I4). Beyond
-- the limit of bytes, the older half of the stream is removed.
-- KEYS: c, mb, hash of the turn, its stream (see key-names.lua)
-- ARGV: turn, owner, epoch, most batches, most bytes, bytes of the pieces, then the fields of the batch
-- Reply: 'appended' | 'not_followed' | 'fenced'
local c, mb, turn, stream = unpack(KEYS)
local owner, epoch = unpack(redis.call('HMGET', c, 'owner', 'epoch'))
if owner ~= ARGV[2] or epoch ~= ARGV[3] or redis.call('LINDEX', mb, 0) ~= ARGV[1] then return 'fenced' end
if not redis.call('XADD', stream, 'NOMKSTREAM', 'MAXLEN', '~', ARGV[4], '*', unpack(ARGV, 7)) then
  return 'not_followed'
end
if redis.call('HINCRBY', turn, 'streamed', ARGV[6]) > tonumber(ARGV[5]) then
  redis.call('XTRIM', stream, 'MAXLEN', math.floor(redis.call('XLEN', stream) / 2))
  redis.call('HSET', turn, 'streamed', math.floor(redis.call('HGET', turn, 'streamed') / 2))
end
redis.call('PUBLISH', stream, '')
return 'appended'
