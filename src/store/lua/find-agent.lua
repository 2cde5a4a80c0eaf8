#!lua flags=allow-oom
-- Looks for a running worker that has an agent. An entry of an older release lists no agents, so its worker may have any.
-- KEYS: workers, missing agents. ARGV: agent
-- Reply: nil if a worker has the agent, otherwise the ms since the first look that found none
local workers, missing = unpack(KEYS)
local agent = ARGV[1]
for _, details in ipairs(redis.call('HVALS', workers)) do
  local agents = string.match(details, '^[^|]*|[^|]*|(.*)$')
  if not agents or string.find(',' .. agents .. ',', ',' .. agent .. ',', 1, true) then
    redis.call('HDEL', missing, agent)
    return nil
  end
end
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
redis.call('HSETNX', missing, agent, string.format('%.0f', now))
return math.max(0, now - tonumber(redis.call('HGET', missing, agent) or now))
