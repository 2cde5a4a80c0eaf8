#!lua flags=allow-oom
-- Extends the lease of a pass. It runs on a full Redis, because its fields exist and do not grow. The worker keeps a finished
-- result only while it has the lease (I11).
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
