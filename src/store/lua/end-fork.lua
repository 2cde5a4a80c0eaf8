-- Completes a fork: writes its first version, and lets the conversation accept turns. Compaction thresholds for turns
-- and messages count from now. If a failover lost copied batches, the conversation stays closed to turns.
-- Counted keys of summaries follow, then the arguments of put_version.
-- Reply: {'done'} | {'incomplete', last seq of the copy} | {'superseded'} | {'gone'}
-- @args operation, ...
-- @include keys
-- @include idle-ttl
-- @include put-version
-- @include fork
local loss = find_fork_loss(operation)
if loss then
  local ended_operation = string.match(redis.call('HGET', c, 'forked') or '', '^%S+')
  return { loss == 'superseded' and ended_operation == operation and 'done' or loss }
end
local forking, head, turns, agent, ttl = unpack(redis.call('HMGET', c, 'forking', 'head', 'turns', 'forkAgent', 'ttl'))
local copied, planned = tonumber(head or 0), number_of(c, 'forking', string.match(forking, '^%S+ %S+ (%S+)'))
local is_complete = copied >= planned
for _, text in ipairs(take_list()) do
  is_complete = redis.call('HEXISTS', txt, 'k:' .. text) == 1 and is_complete
end
if not is_complete then return { 'incomplete', copied } end
put_version()
put(record, 'forked', forking, 'passed', head .. ' ' .. (turns or 0), 'agent', agent)
drop(record, 'forking', 'forkUntil', 'forkAgent')
start_idle_ttl(ttl)
return { 'done' }
