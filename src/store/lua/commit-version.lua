-- Makes a new context version the live one, and ends the compaction pass that made it.
-- `expected`: the live version that the caller knows. `seen`, `ttl`: as in end-pass. Counted pairs of field and text
-- follow, then the arguments of put_version.
-- Reply: as end-pass | {'version_changed', live version}
-- @args passId, owner, outcome, backoff, wake, seen, ttl, expected, ...
-- @include keys
-- @include pass-end
-- @include put-version
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
