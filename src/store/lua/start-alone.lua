-- Records that the worker's process runs only this turn from now on. If the process dies now, the turn is the cause (I10).
-- ARGV: turn, owner, epoch
-- Reply: 'recorded' | a loss by find_loss
-- @include keys
-- @include conversation
-- @include fence
read_conversation()
local loss = find_loss(ARGV[1], ARGV[2], ARGV[3])
if loss then return loss end
put(record, 'alone', 1)
return 'recorded'
