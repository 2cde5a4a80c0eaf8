-- Include first: keys. Writes events of the conversation.
local EVENT_TTL_MS, EVENTS_KEPT = 86400000, 500
local WEBHOOK_EVENTS = { turn_settled = true, turn_waiting = true, version_committed = true }

-- Enters an event in the outbox of each webhook of the tenant. A conversation that is in the outbox already keeps its
-- place, its next event and its pause. Damaged keys of webhooks stop no conversation (I12). A tenant without webhooks
-- costs one read. The set `outbox` has members `webhook|tenant|id`. Their scores are the time of the next attempt, or
-- the end of a claim. The hash `outbox:positions` has the first unsent event and the failed attempts.
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

-- Stores an event for a day, and publishes it to clients that listen now, where it may be lost. fields: names and
-- values. The channel is the key of the stream. The message is the type and the first value.
local function emit(type, fields)
  local event = redis.call('XADD', ev, 'MAXLEN', '~', EVENTS_KEPT, '*', 'type', type, unpack(fields))
  redis.call('PEXPIRE', ev, EVENT_TTL_MS)
  enter_outbox(type, event)
  redis.call('PUBLISH', ev, type .. ' ' .. fields[2])
end
