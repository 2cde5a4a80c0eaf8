-- Extends the lease of a pass's owner.
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
