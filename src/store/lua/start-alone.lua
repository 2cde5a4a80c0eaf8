-- Records that a process runs only this turn from now on (I10). If the process has a parent, the parent reports the
-- death of the process by report-death. If no report comes, both processes may have died of another cause. So
-- claim-turn then requires more deaths before the turn fails.
-- `isWatched`: the process has such a parent.
-- Reply: 'recorded' | a loss by find_loss
-- @args turn, owner, epoch, isWatched
-- @include keys
-- @include conversation
read_conversation()
local loss = find_loss(turn, owner, epoch)
if loss then return loss end
put(record, 'alone', isWatched == '1' and 'watched' or 1)
return 'recorded'
