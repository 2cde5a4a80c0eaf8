-- Requires: keys, ready. Defines: idle, expiry, schedule_idle_check, forget_idle_ttl, start_idle_ttl.
-- A conversation with an idle TTL is erased after that time without activity.
local idle = string.gsub(ready, 'ready$', 'idle')
local idle_member = 'r|' .. tenant .. '|' .. id
-- Exists while an erase is an expiry. Afterwards it names the owner of the last batch, for as long as that batch may be sent
-- again. A key of its own, because `gone` must stay a number.
local expiry = gone .. ':expiry'

local function schedule_idle_check(at)
  redis.call('ZADD', idle, string.format('%.0f', at), idle_member)
end

local function forget_idle_ttl()
  redis.call('ZREM', idle, idle_member)
end

-- Restarts the idle TTL after activity.
-- The parameter `known` is the field `ttl`, or false. The parameter `given` is the TTL in ms,
-- '0' for none, '' or nil to keep the last one.
local function start_idle_ttl(known, given)
  local ttl = given ~= '' and given or string.match(known or '0', '^%d+')
  if ttl ~= '0' then
    redis.call('HSET', c, 'ttl', string.format('%s %.0f', ttl, now + ttl))
    schedule_idle_check(now + ttl)
  elseif known then
    redis.call('HDEL', c, 'ttl')
    forget_idle_ttl()
  end
end
