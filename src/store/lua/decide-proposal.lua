-- Stores a person's decision on a proposal. A worker can then claim the pass and carry the decision out.
-- `proposal`: its id. `verdict` is JSON. Names and values of the event follow.
-- Reply: {'decided', 1 if the wake is to be added} | {'concluded', outcome} | {'stale',
-- 'unknown'|'decided'|'expired'|'version_changed'} | {'not_found'} | {'forking', 1 if abandoned} | {'gone'} |
-- {'other_payload'}
-- @args operation, proposal, verdict, wake, ...
-- @include keys
-- @include events
-- @include fork
-- @include review
if redis.call('EXISTS', gone) == 1 then return { 'gone' } end
local answer, is_other = find_answer(operation, REVIEW)
if is_other then return { 'other_payload' } end
if answer then return { 'concluded', answer } end
local schema, forking, fork_until, version = unpack(redis.call('HMGET', c, 'schema', 'forking', 'forkUntil', 'version'))
if not schema then return { 'not_found' } end
if forking then return forking_reply(fork_until) end
local present_proposal, decision, recorded_wake, expires_at, proposed_over =
  unpack(redis.call('HMGET', pass, 'proposalId', 'decision', 'wake', 'expiresAt', 'proposedOver'))
if decision == operation then return { 'decided', recorded_wake == wake and 1 or 0 } end
if is_other_payload(operation, decision) then return { 'other_payload' } end
if present_proposal ~= proposal then return { 'stale', 'unknown' } end
if decision then return { 'stale', 'decided' } end
if number_of(pass, 'expiresAt', expires_at) <= now then return { 'stale', 'expired' } end
if proposed_over ~= (version or '0') then return { 'stale', 'version_changed' } end
redis.call('HSET', pass, 'decision', operation, 'verdict', verdict, 'wake', wake)
redis.call('HDEL', pass, 'parked', 'parkedBy', 'parkedUntil')
schedule(pass_member, now + WAKE_GRACE_MS)
add_open_pass()
emit('proposal_decided', { unpack(ARGV, rest) })
return { 'decided', 1 }
