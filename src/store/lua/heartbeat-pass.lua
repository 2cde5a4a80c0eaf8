#!lua flags=allow-oom
-- Extends the lease of a pass's owner. Also on a full Redis: the fields are there already and do not grow, and the worker
-- holds what it finished for as long as it has the lease (I11).
-- ARGV: passId, owner, leaseMs
-- Reply: 'held' | 'fenced' | 'superseded' | 'gone'
-- @include keys
-- @include ready
-- @include pass-fence
-- @include pass-lease
local loss = find_pass_loss(ARGV[1], ARGV[2])
if loss then return loss end
lease_pass(ARGV[2], ARGV[3])
return 'held'
