-- When somebody must look again, in ms. Members: t|tenant|id (turns), p|tenant|id (pass), d|tenant|id|turn (scheduled).
-- Ids hold no ':' and no '|', so the conversation is read back from the name of its key.
local tenant, id = string.match(c, '^{tf%d+}:([^:]+):c:(.+)$')
local turn_member, pass_member = 't|' .. tenant .. '|' .. id, 'p|' .. tenant .. '|' .. id
-- How long a wake that was recorded may take to arrive before the sweeper looks after it.
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
