-- Replaces the live version that the provider refused for the running turn, and blocks its refused segments (compacted
-- ranges) from reuse. A version that a model has answered stays, because a provider accepted it.
-- `expected`: the live version that the caller knows. `shown`: the first version with the refused segments. `segments`:
-- hash of these segments. The arguments of put_version follow.
-- Reply: {'rolled_back'|'known', the conversation's fields} | {'version_changed', live version} | {'answered'} | {a
-- loss by find_loss}
-- @args turn, owner, epoch, expected, shown, segments, ...
-- @include keys
-- @include conversation
-- @include review
-- @include put-version
read_conversation()
local loss = find_loss(turn, owner, epoch)
if loss then return { loss } end
local number, version = ARGV[rest], ARGV[rest + 1]
local live = redis.call('HGET', c, 'version') or '0'
-- Only the owner of the running turn can roll back, so a repeated call finds the version that its first attempt wrote.
if live == number and redis.call('HGET', ver, number) == version then
  return { 'known', redis.call('HGETALL', c) }
end
if live ~= expected then return { 'version_changed', tonumber(live) } end
if tonumber(redis.call('HGET', c, 'answered') or -1) >= tonumber(shown) then return { 'answered' } end
-- The plan of a parked pass is based on the refused version, so the pass starts again at once. Otherwise the running
-- turn would take the pass over before its child jobs end, and evict messages.
local proposal, parked, pass_owner = unpack(redis.call('HMGET', pass, 'proposal', 'parked', 'owner'))
if proposal or parked then
  drop_proposal()
  if not pass_owner then schedule(pass_member, now) end
end
put(record, 'quarantine', number .. ' ' .. segments)
put_version()
return { 'rolled_back', redis.call('HGETALL', c) }
