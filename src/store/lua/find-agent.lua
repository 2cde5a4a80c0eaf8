#!lua flags=allow-oom
-- Looks for a running worker that has an agent. An entry of an older release lists no agents, so its worker may have any.
-- KEYS: workers, missing agents. ARGV: agent, ms without a look after which the agent is missing anew
-- Reply: nil if a worker has the agent, otherwise the ms since the first look that found none
local workers, missing = unpack(KEYS)
local agent, forget_ms = ARGV[1], tonumber(ARGV[2])
local entries = redis.call('HGETALL', workers)
for at = 2, #entries, 2 do
  local agents = string.match(entries[at], '^[^|]*|[^|]*|(.*)$')
  if not agents or string.find(',' .. agents .. ',', ',' .. agent .. ',', 1, true) then
    redis.call('HDEL', missing, agent)
    return nil
  end
end
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local since, last = string.match(redis.call('HGET', missing, agent) or '', '^(%d+) (%d+)$')
since, last = tonumber(since or now), tonumber(last or now)
if now - last > forget_ms then since = now end
redis.call('HSET', missing, agent, string.format('%.0f %.0f', since, now))
return math.max(0, now - since)
