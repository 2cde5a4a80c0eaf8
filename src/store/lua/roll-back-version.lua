-- Puts a version over the live one, which the head turn's provider refused, and quarantines what that one was made of.
-- ARGV: turn, owner, epoch, expected version, hash of the refused segments; then as put_version
-- Reply: {'rolled_back'|'known', the conversation's fields} | {'version_changed', live version} | {'fenced'} | {'gone'}
-- @include keys
-- @include conversation
-- @include events
-- @include fence
-- @include args
-- @include put-version
local turn, owner, epoch, expected, segments = take(), take(), take(), take(), take()
read_conversation()
local loss = find_loss(turn, owner, epoch)
if loss then return { loss } end
local number = ARGV[position + 1]
local live = redis.call('HGET', c, 'version') or '0'
-- Sent again: only this turn's owner rolls back while it holds the conversation.
if live == number and redis.call('HGET', ver, number) == ARGV[position + 2] then
  return { 'known', redis.call('HGETALL', c) }
end
if live ~= expected then return { 'version_changed', tonumber(live) } end
redis.call('HSET', c, 'quarantine', number .. ' ' .. segments)
put_version()
return { 'rolled_back', redis.call('HGETALL', c) }
