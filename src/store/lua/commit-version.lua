-- Makes a new context version the live one, and ends the compaction pass that made it.
-- ARGV: as end-pass; live version that the caller knows; counted pairs of texts (field, text); then as put_version
-- Reply: as end-pass | {'version_changed', live version}
-- @include keys
-- @include ready
-- @include wake
-- @include events
-- @include index
-- @include review
-- @include pass-owner
-- @include pass-end
-- @include args
-- @include put-version
local passId, owner, outcome, backoff, wake = take(), take(), take(), take(), take()
local seen, ttl, expected = take(), take(), take()
local loss = find_pass_loss(passId, owner)
if loss == 'gone' then return { loss } end
local ended = find_end(passId)
if ended then return ended end
if loss then return { loss } end
if has_new_reasons(seen) then return { 'reasons_added' } end
local live = redis.call('HGET', c, 'version') or '0'
if live ~= expected then return { 'version_changed', tonumber(live) } end

-- A kept version that shows a text must always render to the same bytes (I15). So a text that exists is never replaced.
for _ = 1, tonumber(take()) do
  local field = take()
  redis.call('HSETNX', txt, field, take())
end
put_version()
put(record, 'backoff', backoff)
return { 'ended', end_pass(passId, outcome, wake, ttl) == 1 and wake or '' }
