-- Stores the plan of a pass, with which later claims continue. Only the first plan resets the count of attempts.
-- Otherwise a context that keeps changing would make the pass summarize forever.
-- Reply: 'recorded' | 'fenced' | 'superseded' | 'gone'
-- @args passId, owner, plan
-- @include keys
-- @include pass-owner
local loss = find_pass_loss(passId, owner)
if loss then return loss end
local is_first = redis.call('HSET', pass, 'plan', plan) == 1
if is_first then redis.call('HSET', pass, 'attempts', 1) end
return 'recorded'
