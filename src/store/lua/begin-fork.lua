-- Creates the conversation into which a fork copies its source. This conversation accepts no other write until the copy
-- is complete. Another operation may replace an abandoned fork, whose keys are then removed.
-- `plan`: version and last seq to copy, tenant and id of the source. `forkAgent`: stands for the agent until the copy
-- is complete. `ttl`: idle TTL of the source in ms.
-- Reply: {'copying'|'done', last seq of the copy, plan that the first call stored} | {'exists'} | {'forking', 0} |
-- {'other_payload'}
-- @args operation, schema, agent, forkAgent, plan, leaseMs, ttl, ownedBy, title
-- @include keys
-- @include create
-- @include idle-ttl
-- @include fork
-- @include operations
local is_gone = redis.call('EXISTS', gone) == 1
local known, forking, forked, head, fork_until =
  unpack(is_gone and {} or redis.call('HMGET', c, 'schema', 'forking', 'forked', 'head', 'forkUntil'))
if known then
  local first_operation, first_plan = string.match(forking or forked or '', '^(%S+) (.*)$')
  if first_operation == operation then
    if forked then return { 'done', tonumber(head), first_plan } end
    lease_fork(leaseMs)
    return { 'copying', tonumber(head), first_plan }
  end
  if is_other_payload(operation, first_operation) then return { 'other_payload' } end
  if not forking then return { 'exists' } end
  local refusal = forking_reply(fork_until)
  if refusal[2] == 0 then return refusal end
end
create_conversation(is_gone or known, schema, forkAgent)
touch_conversation(ownedBy)
-- A fork may have no key to list. An index without any name would count as lost, so this name stands for none.
redis.call('HSET', ix, 'fork:1', '')
put(record, 'forking', operation .. ' ' .. plan, 'forkAgent', agent)
lease_fork(leaseMs)
start_idle_ttl(false, ttl)
return { 'copying', 0, plan }
