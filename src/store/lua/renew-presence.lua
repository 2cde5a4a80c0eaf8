#!lua flags=allow-oom
-- Records that a worker is alive, and removes workers that were silent too long. The script runs on a full Redis, because
-- otherwise living workers would be reported as lost.
-- KEYS: workers. ARGV: member, lostAfterMs, or '' to remove no worker
-- Reply: removed members, each followed by the time of its last renewal
-- @include clock
local workers, member, lostAfterMs = KEYS[1], ARGV[1], ARGV[2]
local MOST_REMOVED = 100
redis.call('ZADD', workers, string.format('%.0f', now), member)
if lostAfterMs == '' then return {} end
local silent_since = string.format('%.0f', now - tonumber(lostAfterMs))
local lost = redis.call('ZRANGEBYSCORE', workers, '-inf', silent_since, 'WITHSCORES', 'LIMIT', 0, MOST_REMOVED)
for at = 1, #lost, 2 do redis.call('ZREM', workers, lost[at]) end
return lost
