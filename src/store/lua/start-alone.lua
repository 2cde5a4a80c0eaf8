-- Records that a process runs only this turn from now on (I10). If the process has a parent, the parent reports the
-- death of the process by report-death. If no report comes, both processes may have died of another cause. So
-- claim-turn then requires more deaths before the turn fails.
-- ARGV: turn, owner, epoch, 1 if the process has such a parent, else 0
-- Reply: 'recorded' | a loss by find_loss
-- @include keys
-- @include conversation
read_conversation()
local loss = find_loss(ARGV[1], ARGV[2], ARGV[3])
if loss then return loss end
put(record, 'alone', ARGV[4] == '1' and 'watched' or 1)
return 'recorded'
