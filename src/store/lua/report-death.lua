#!lua flags=allow-oom
-- Records that the process in which the turn ran alone died, and ends the lease. The next claim settles the turn as
-- failed (poison), unless the turn had made progress in that process (I10). Runs on a full Redis, because the fields do
-- not grow.
-- Reply: 'recorded' | a loss by find_loss
-- @args turn, owner, epoch
-- @include conversation
-- @include ready
check_keys('ZCARD', ready)
read_conversation()
local loss = find_loss(turn, owner, epoch)
if loss then return loss end
put(record, 'alone', 1, 'lease', string.format('%.0f', now))
schedule(turn_member, now)
return 'recorded'
