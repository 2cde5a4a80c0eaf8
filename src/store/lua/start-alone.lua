-- Records that a process runs only this turn from now on (I10). Its parent, if any, reports its death by report-death.
-- Without that report, both may have died of another cause, so the claim then counts more deaths.
-- ARGV: turn, owner, epoch, 1 if the process has such a parent, else 0
-- Reply: 'recorded' | a loss by find_loss
-- @include keys
-- @include conversation
read_conversation()
local loss = find_loss(ARGV[1], ARGV[2], ARGV[3])
if loss then return loss end
put(record, 'alone', ARGV[4] == '1' and 'watched' or 1)
return 'recorded'
