#!lua flags=allow-oom
-- Extends the lease of a turn. It runs on a full Redis, because its fields exist and do not grow. The worker keeps a finished
-- result only while it has the lease (I11).
-- ARGV: turn, owner, epoch, leaseMs
-- Reply: 'held' | a loss by find_loss
-- @include keys
-- @include conversation
-- @include ready
-- @include fence
read_conversation()
local loss = find_loss(ARGV[1], ARGV[2], ARGV[3])
if loss then return loss end
local lease = now + tonumber(ARGV[4])
redis.call('HSET', c, 'lease', string.format('%.0f', lease))
schedule(turn_member, lease)
return 'held'
