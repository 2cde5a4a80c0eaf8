-- Puts the first version of a fork and opens it. Thresholds of turns and messages count from here.
-- ARGV: operation; then as put_version
-- Reply: {'done'} | {'superseded'} | {'gone'}
-- @include keys
-- @include events
-- @include args
-- @include put-version
-- @include fork-fence
local operation = take()
local loss = find_fork_loss(operation)
if loss then
  local by = string.match(redis.call('HGET', c, 'forked') or '', '^%S+')
  return { loss == 'superseded' and by == operation and 'done' or loss }
end
put_version()
local state = redis.call('HMGET', c, 'forking', 'head', 'turns', 'forkAgent')
redis.call('HSET', c, 'forked', state[1], 'passed', state[2] .. ' ' .. (state[3] or 0), 'agent', state[4])
redis.call('HDEL', c, 'forking', 'forkUntil', 'forkAgent')
return { 'done' }
