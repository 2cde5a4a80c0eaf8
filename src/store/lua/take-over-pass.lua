-- Gives the pass in progress to a waiting turn's worker under a new id, even if another worker has it. Later writes of
-- the former owner and its child jobs are superseded. The reasons to compact stay. The plan is dropped, because the new
-- owner compacts at once without summaries from child jobs.
-- Reply: {'gone'} | {'empty'} | {'claimed', the pass's fields, the conversation's fields}
-- @args owner, passId, leaseMs
-- @include keys
-- @include pass-owner
-- @include review
if redis.call('EXISTS', gone) == 1 then return { 'gone' } end
local present_pass = redis.call('HGET', pass, 'passId')
if not present_pass then return { 'empty' } end
if present_pass == passId then return claimed_pass() end
supersede_owner()
drop_proposal()
redis.call('HSET', pass, 'passId', passId, 'attempts', 1)
redis.call('HDEL', pass, 'resumed', 'sweeps')
put(record, 'pass', passId)
lease_pass(owner, leaseMs)
return claimed_pass()
