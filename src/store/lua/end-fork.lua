-- Puts the first version of a fork and opens the conversation. Thresholds of turns and messages count from here.
-- A fork stays closed if batches are missing: a failover may have lost some.
-- ARGV: operation, counted keys of summaries, then as put_version
-- Reply: {'done'} | {'incomplete', its head} | {'superseded'} | {'gone'}
-- @include keys
-- @include ready
-- @include idle-ttl
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
local state = redis.call('HMGET', c, 'forking', 'head', 'turns', 'forkAgent', 'ttl')
local head, planned = tonumber(state[2] or 0), number_of(c, 'forking', string.match(state[1], '^%S+ %S+ (%S+)'))
local is_complete = head >= planned
for _, text in ipairs(take_list()) do
  is_complete = redis.call('HEXISTS', cp, 'k:' .. text) == 1 and is_complete
end
if not is_complete then return { 'incomplete', head } end
put_version()
redis.call('HSET', c, 'forked', state[1], 'passed', state[2] .. ' ' .. (state[3] or 0), 'agent', state[4])
redis.call('HDEL', c, 'forking', 'forkUntil', 'forkAgent')
start_idle_ttl(state[5])
return { 'done' }
