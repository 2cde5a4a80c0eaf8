-- Records that nothing else runs in the owner's process from now on: if it dies now, the turn itself is to blame (I10).
-- ARGV: turn, owner, epoch
-- Reply: 'recorded' | what find_loss answers
-- @include keys
-- @include conversation
-- @include fence
read_conversation()
local loss = find_loss(ARGV[1], ARGV[2], ARGV[3])
if loss then return loss end
redis.call('HSET', c, 'alone', 1)
return 'recorded'
