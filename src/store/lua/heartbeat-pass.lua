#!lua flags=allow-oom
-- Extends the lease of a pass. Runs on a full Redis, because it overwrites fields of the same size. If the lease
-- lapsed, a worker could not store a finished result (I11).
-- ARGV: passId, owner, leaseMs
-- Reply: 'renewed' | 'fenced' | 'superseded' | 'gone'
-- @include keys
-- @include ready
-- @include pass-owner
local loss = find_pass_loss(ARGV[1], ARGV[2])
if loss then return loss end
lease_pass(ARGV[2], ARGV[3])
return 'renewed'
