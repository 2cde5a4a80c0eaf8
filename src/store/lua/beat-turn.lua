-- Extends the lease of an owner.
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
look_again(turn_member, lease)
return 'held'
