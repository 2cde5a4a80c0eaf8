-- Ends a compaction pass that made no new context version.
-- ARGV: passId, owner, outcome, backoff, wake of a turn that waits for the pass, reasons as they were read or '*', idle TTL of
-- the policy in ms, '0' or ''
-- Reply: {'ended', the wake if it is to be added, else ''} | {'reasons_added'} | {'fenced'} | {'superseded'} | {'gone'}
-- @include keys
-- @include ready
-- @include wake
-- @include events
-- @include index
-- @include review
-- @include pass-owner
-- @include pass-end
local passId, owner, outcome, backoff, wake, seen, ttl = unpack(ARGV)
local loss = find_pass_loss(passId, owner)
if loss == 'gone' then return { loss } end
local ended = find_end(passId)
if ended then return ended end
if loss then return { loss } end
if has_new_reasons(seen) then return { 'reasons_added' } end
put(record, 'backoff', backoff)
return { 'ended', end_pass(passId, outcome, wake, ttl) == 1 and wake or '' }
