-- Ends a compaction pass that made no new context version.
-- `wake`: for a turn that waits for the pass. `seen`: the reasons that the owner read, or '*' for any. `ttl`: idle TTL
-- of the policy in ms, '0' or ''.
-- Reply: {'ended', the wake if it is to be added, else ''} | {'reasons_added'} | {'fenced'} | {'superseded'} | {'gone'}
-- @args passId, owner, outcome, backoff, wake, seen, ttl
-- @include keys
-- @include pass-end
local loss = find_pass_loss(passId, owner)
if loss == 'gone' then return { loss } end
local ended = find_end(passId)
if ended then return ended end
if loss then return { loss } end
if has_new_reasons(seen) then return { 'reasons_added' } end
put(record, 'backoff', backoff)
return { 'ended', end_pass(passId, outcome, wake, ttl) == 1 and wake or '' }
