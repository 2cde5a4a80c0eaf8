-- Ends a pass without a version.
-- ARGV: passId, owner, outcome, gate (shut below, passes without gain, breaker), wake of a turn that waits for it
-- Reply: {'ended', the wake where it is to be added, else ''} | {'superseded'} | {'gone'}
-- @include keys
-- @include ready
-- @include wake
-- @include events
-- @include fulfil
-- @include pass-fence
-- @include pass-end
local passId, owner, outcome, shutBelow, gainless, breaker, wake = unpack(ARGV)
local loss = find_pass_loss(passId, owner)
if loss == 'gone' then return { loss } end
local ended = find_end(passId)
if ended then return ended end
if loss then return { loss } end
set_gate(shutBelow, gainless, breaker)
return { 'ended', end_pass(passId, outcome, wake) == 1 and wake or '' }
