#!lua flags=allow-oom
-- Extends the lease of a turn. Runs on a full Redis, because it overwrites fields of the same size. A worker whose
-- lease lapsed could not store a finished result (I11).
-- Reply: 'renewed' | a loss by find_loss
-- @args turn, owner, epoch, leaseMs
-- @include conversation
-- @include ready
check_keys('ZCARD', ready)
read_conversation()
local loss = find_loss(turn, owner, epoch)
if loss then return loss end
local lease = now + tonumber(leaseMs)
put(record, 'lease', string.format('%.0f', lease))
schedule(turn_member, lease)
return 'renewed'
