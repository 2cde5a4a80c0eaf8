#!lua flags=allow-oom
-- Adds a worker to the running workers. Runs on a full Redis, because living workers would otherwise be reported as
-- lost.
-- `details`: roles, start and agents, separated by '|'. `connection`: id of the worker's connection. `missing`: agents
-- that no worker has.
-- Reply: 1
-- @keys workers, key, missing
-- @args worker, details, connection, ttlMs
redis.call('HSET', workers, worker, details)
local roles, agents = string.match(details, '^([^|]*)|[^|]*|?(.*)$')
for role in string.gmatch(roles, '[^,]+') do
  for agent in string.gmatch(agents, '[^,]+') do redis.call('HDEL', missing, role .. '|' .. agent) end
end
redis.call('SET', key, connection, 'PX', ttlMs)
return 1
