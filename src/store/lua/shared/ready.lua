-- The sorted set `ready` has the times in ms at which the sweeper must check something. Its members are t|tenant|id
-- (the turns of a conversation), p|tenant|id (its compaction pass) and d|tenant|id|turn (a scheduled turn). Ids hold no
-- ':' and no '|'.
-- @include key-names
local tenant, id = string.match(c, '^{[^}]+}:([^:]+):c:(.+)$')
local turn_member, pass_member = 't|' .. tenant .. '|' .. id, 'p|' .. tenant .. '|' .. id
-- ms that a wake may take to reach a worker, before a sweep checks the turn.
local WAKE_GRACE_MS = 5000

local function scheduled_member(turn)
  return 'd|' .. tenant .. '|' .. id .. '|' .. turn
end

local function schedule(member, at)
  redis.call('ZADD', ready, string.format('%.0f', at), member)
end

local function unschedule(member)
  redis.call('ZREM', ready, member)
end

-- Starts a lease, and returns its end. This is the first write of a claim: if Redis is full, the script ends here.
local function start_lease(leaseMs)
  local lease = now + tonumber(leaseMs)
  schedule(turn_member, lease)
  return string.format('%.0f', lease)
end
