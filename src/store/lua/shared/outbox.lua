-- Requires: keys. Defines: enter_outbox. Enters a new event in the outbox of each webhook of the tenant. A conversation that
-- is in the outbox already keeps its place, its next event and its pause. A tenant without webhooks costs one read.
-- Outbox, one sorted set per shard: `webhook|tenant|id` by the time of the next attempt, or of the end of a claim.
-- Positions, one hash per shard: the same name -> id of the first unsent event and number of failed attempts.
-- Damaged keys of webhooks stop no conversation (I12).
local WEBHOOK_EVENTS = { turn_settled = true, turn_waiting = true, version_committed = true }

local function enter_outbox(type, event)
  if not WEBHOOK_EVENTS[type] then return end
  local shard, tenant, id = string.match(ev, '^({[^}]+}:)([^:]+):ev:(.+)$')
  for _, webhook in ipairs(redis.pcall('SMEMBERS', shard .. tenant .. ':webhooks')) do
    local name = webhook .. '|' .. tenant .. '|' .. id
    if redis.pcall('ZADD', shard .. 'outbox', 'NX', now, name) == 1 then
      redis.pcall('HSET', shard .. 'outbox:positions', name, event .. ' 0')
    end
  end
end
