-- Stores the context version that a pass proposes until a person decides on it, and gives the lease of the pass back.
-- ARGV: passId, owner, reasons as they were read, live version under the proposal, id of the proposal, proposal (JSON),
-- reviewMs, event fields (name, value)
-- Reply: {'proposed'} | {'reasons_added'} | {'version_changed', live version} | {'fenced'} | {'superseded'} | {'gone'}
-- @include keys
-- @include ready
-- @include events
-- @include index
-- @include pass-owner
-- @include review
local passId, owner, seen, over, id, proposal, reviewMs = unpack(ARGV, 1, 7)
local loss = find_pass_loss(passId, owner)
if loss == 'fenced' and is_left_to_review(passId, owner) then return { 'proposed' } end
if loss then return { loss } end
if has_new_reasons(seen) then return { 'reasons_added' } end
local live = redis.call('HGET', c, 'version') or '0'
if live ~= over then return { 'version_changed', tonumber(live) } end
local untilMs = string.format('%.0f', now + tonumber(reviewMs))
redis.call('HSET', pass, 'proposal', proposal, 'proposalId', id, 'proposedOver', over,
  'proposedAt', string.format('%.0f', now), 'expiresAt', untilMs)
await_review(owner, untilMs)
emit('version_proposed', { unpack(ARGV, 8) })
return { 'proposed' }
