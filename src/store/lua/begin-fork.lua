-- Makes the conversation that a fork is copied into; it takes nothing else before the fork ends.
-- ARGV: operation, schema, agent, plan (version, head, tenant and id of the source)
-- Reply: {'copying', entries copied, plan of the first begin} | {'done'} | {'exists'}
-- @include keys
-- @include ready
-- @include create
local operation, schema, agent, plan = unpack(ARGV)
local is_gone = redis.call('EXISTS', gone) == 1
local known = is_gone and {} or redis.call('HMGET', c, 'schema', 'forking', 'forked', 'head')
if known[1] then
  local by, first_plan = string.match(known[2] or known[3] or '', '^(%S+) (.*)$')
  if by ~= operation then return { 'exists' } end
  if known[3] then return { 'done' } end
  return { 'copying', tonumber(known[4]), first_plan }
end
create_conversation(is_gone, schema, agent)
redis.call('HSET', c, 'forking', operation .. ' ' .. plan)
return { 'copying', 0, plan }
