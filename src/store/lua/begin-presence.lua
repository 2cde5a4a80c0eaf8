#!lua flags=allow-oom
-- Adds a worker to the running workers. Runs on a full Redis, because living workers would otherwise be reported as
-- lost.
-- KEYS: workers, the worker's key, missing agents. ARGV: worker, its roles, start and agents, id of the connection or
-- '', time to live in ms
-- Reply: 1
local workers, key, missing = unpack(KEYS)
local worker, details, connection, ttlMs = unpack(ARGV)
redis.call('HSET', workers, worker, details)
local roles, agents = string.match(details, '^([^|]*)|[^|]*|?(.*)$')
for role in string.gmatch(roles, '[^,]+') do
  for agent in string.gmatch(agents, '[^,]+') do redis.call('HDEL', missing, role .. '|' .. agent) end
end
redis.call('SET', key, connection, 'PX', ttlMs)
return 1
