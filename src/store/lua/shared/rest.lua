-- Needs: keys, ready. A conversation whose policy gives it a time to live is erased once nothing has happened in it for so
-- long. Field `ttl` holds that time and the end of the rest, both in ms; the shard's set says when the sweeper must look.
-- A set of its own: a worker of before this would fail at a kind in `ready` that it does not know, with all of the shard.
local resting = string.gsub(ready, 'ready$', 'resting')
local resting_member = 'r|' .. tenant .. '|' .. id
-- There while an erase is an expiry; then, for as long as its last batch may be sent again, whose that was. (No part of `gone`:
-- earlier programs add to that, which must be a number for it.)
local expiry = gone .. ':expiry'

local function look_after_rest(at)
  redis.call('ZADD', resting, string.format('%.0f', at), resting_member)
end

local function forget_rest()
  redis.call('ZREM', resting, resting_member)
end

-- Something has happened: a rest begins anew. known: field `ttl`, or false; given: ms by the policy, '0' for never, '' or nil
-- where the caller knows no policy, so that what was given last stands.
local function begin_rest(known, given)
  local ttl = given ~= '' and given or string.match(known or '0', '^%d+')
  if ttl ~= '0' then
    redis.call('HSET', c, 'ttl', string.format('%s %.0f', ttl, now + ttl))
    look_after_rest(now + ttl)
  elseif known then
    redis.call('HDEL', c, 'ttl')
    forget_rest()
  end
end
