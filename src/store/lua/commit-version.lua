-- Makes a version the live one and ends its pass.
-- ARGV: as end-pass; then expected version, number, version (JSON), its tokens and bytes, base, the log's tokens and bytes up
-- to base, versions to keep; then each with its count before it: event fields (name, value), checkpoints (key, JSON)
-- Reply: as end-pass | {'version_changed', live version}
-- @include keys
-- @include ready
-- @include wake
-- @include events
-- @include fulfil
-- @include pass-fence
-- @include pass-end
-- @include args
local passId, owner, outcome, shutBelow, gainless, breaker, wake = take(), take(), take(), take(), take(), take(), take()
local expected, number, version = take(), take(), take()
local tokens, bytes, base, baseTokens, baseBytes, keep = take(), take(), take(), take(), take(), tonumber(take())
local loss = find_pass_loss(passId, owner)
if loss == 'gone' then return { loss } end
local ended = find_end(passId)
if ended then return ended end
if loss then return { loss } end
local live = redis.call('HGET', c, 'version') or '0'
if live ~= expected then return { 'version_changed', tonumber(live) } end

local event = {}
for _ = 1, 2 * tonumber(take()) do event[#event + 1] = take() end
-- NX: a text that a kept version names is never changed, or that version would show other words than before.
for _ = 1, tonumber(take()) do
  local key = take()
  redis.call('HSETNX', cp, 'k:' .. key, take())
end
redis.call('HSET', ver, number, version)
redis.call('HSET', c, 'version', number, 'shape', table.concat({ tokens, bytes, base, baseTokens, baseBytes }, ' '))

local numbers = redis.call('HKEYS', ver)
table.sort(numbers, function(a, b) return tonumber(a) < tonumber(b) end)
for at = 1, math.min(#numbers - keep, #numbers - 1) do redis.call('HDEL', ver, numbers[at]) end
emit('version_committed', event)
set_gate(shutBelow, gainless, breaker)
return { 'ended', end_pass(passId, outcome, wake) == 1 and wake or '' }
