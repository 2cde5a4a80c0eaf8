#!lua flags=allow-oom
-- Extends the lease of a pass. Runs on a full Redis, because it overwrites fields of the same size. A worker whose
-- lease lapsed could not store a finished result (I11).
-- Reply: 'renewed' | 'fenced' | 'superseded' | 'gone'
-- @args passId, owner, leaseMs
-- @include keys
-- @include pass-owner
local loss = find_pass_loss(passId, owner)
if loss then return loss end
lease_pass(owner, leaseMs)
return 'renewed'
