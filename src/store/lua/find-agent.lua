#!lua flags=allow-oom
-- Looks for a running worker with an agent and a role. A worker of an older release lists no agents, so it may have any
-- agent.
-- `forgetMs`: after this many ms without a search, the agent counts as newly missing.
-- Reply: nil if a worker has the agent, otherwise the ms since the first look that found none
-- @keys workers, missing
-- @args agent, role, forgetMs
local name = role .. '|' .. agent
local function lists(names, wanted)
  return string.find(',' .. (names or '') .. ',', ',' .. wanted .. ',', 1, true)
end

local entries = redis.call('HGETALL', workers)
for at = 2, #entries, 2 do
  local roles, agents = string.match(entries[at], '^([^|]*)|[^|]*|?(.*)$')
  local has_list = select(2, string.gsub(entries[at], '|', '')) > 1
  if lists(roles, role) and (not has_list or lists(agents, agent)) then
    redis.call('HDEL', missing, name)
    return nil
  end
end
-- @include clock
local since, last = string.match(redis.call('HGET', missing, name) or '', '^(%d+) (%d+)$')
since, last = tonumber(since or now), tonumber(last or now)
if now - last > tonumber(forgetMs) then since = now end
redis.call('HSET', missing, name, string.format('%.0f %.0f', since, now))
return math.max(0, now - since)
