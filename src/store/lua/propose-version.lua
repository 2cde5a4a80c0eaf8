-- Stores the context version that a pass proposes until a person decides on it, and gives the lease of the pass back.
-- `seen`: the reasons that the owner read. `expected`: the live version that the proposal would replace. Names and
-- values of the event follow.
-- Reply: {'proposed'} | {'reasons_added'} | {'version_changed', live version} | {'fenced'} | {'superseded'} | {'gone'}
-- @args passId, owner, seen, expected, proposalId, proposal, reviewMs, ...
-- @include keys
-- @include events
-- @include pass-owner
-- @include review
local loss = find_pass_loss(passId, owner)
if loss == 'fenced' and has_given_back(passId, owner, REVIEW) then return { 'proposed' } end
if loss then return { loss } end
if has_new_reasons(seen) then return { 'reasons_added' } end
local live = redis.call('HGET', c, 'version') or '0'
if live ~= expected then return { 'version_changed', tonumber(live) } end
local untilMs = string.format('%.0f', now + tonumber(reviewMs))
redis.call('HSET', pass, 'proposal', proposal, 'proposalId', proposalId, 'proposedOver', expected,
  'proposedAt', string.format('%.0f', now), 'expiresAt', untilMs)
await_review(owner, untilMs)
emit('version_proposed', { unpack(ARGV, rest) })
return { 'proposed' }
