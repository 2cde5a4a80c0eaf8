#!lua flags=allow-oom
-- Extends a worker's lease of a compaction pass. The script runs on a full Redis, because it overwrites fields of the same
-- size. Without the lease, the worker could not store a result that it has finished (I11).
-- ARGV: passId, owner, leaseMs
-- Reply: 'renewed' | 'fenced' | 'superseded' | 'gone'
-- @include keys
-- @include ready
-- @include pass-owner
local loss = find_pass_loss(ARGV[1], ARGV[2])
if loss then return loss end
lease_pass(ARGV[2], ARGV[3])
return 'renewed'
