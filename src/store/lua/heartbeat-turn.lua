#!lua flags=allow-oom
-- Extends a worker's lease of a turn. The script runs on a full Redis, because it overwrites fields of the same size.
-- Without the lease, the worker could not store a result that it has finished (I11).
-- ARGV: turn, owner, epoch, leaseMs
-- Reply: 'renewed' | a loss by find_loss
-- @include key-names
-- @include validate
-- @include conversation
-- @include ready
check_keys('ZCARD', ready)
read_conversation()
local loss = find_loss(ARGV[1], ARGV[2], ARGV[3])
if loss then return loss end
local lease = now + tonumber(ARGV[4])
put(record, 'lease', string.format('%.0f', lease))
schedule(turn_member, lease)
return 'renewed'
