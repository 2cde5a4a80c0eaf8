-- Needs: keys, ready. A conversation whose policy gives it a time to live is erased once nothing has happened in it for so
-- long. Field `ttl` holds that time and the end of the rest, both in ms; the shard's set says when the sweeper must look.
local idle = string.gsub(ready, 'ready$', 'idle')
local idle_member = 'r|' .. tenant .. '|' .. id
-- There while an erase is an expiry; then, for as long as its last batch may be sent again, whose that was.
local expiry = gone .. ':expiry'

local function schedule_idle_check(at)
  redis.call('ZADD', idle, string.format('%.0f', at), idle_member)
end

local function forget_idle_ttl()
  redis.call('ZREM', idle, idle_member)
end

-- Something has happened: a rest begins anew. known: field `ttl`, or false; given: ms by the policy, '0' for never, '' or nil
-- where the caller knows no policy, so that what was given last stands.
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
