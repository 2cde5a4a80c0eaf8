#!lua flags=allow-oom
-- Extends the lease of an owner. Also on a full Redis: the fields are there already and do not grow, and the worker
-- holds what it finished for as long as it has the lease (I11).
-- ARGV: turn, owner, epoch, leaseMs
-- Reply: 'held' | what find_loss answers
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
