-- Writes events of the conversation.
-- @include key-names
local EVENT_TTL_MS, EVENTS_KEPT = 86400000, 500
local WEBHOOK_EVENTS = { turn_settled = true, turn_waiting = true, version_committed = true }

-- Enters an event in the outbox of each webhook of the tenant. The sorted set `outbox` has `webhook|tenant|id`, by the
-- time of the next attempt or the end of a claim. The hash `outbox:positions` has the first unsent event and the number
-- of failed attempts. A conversation that is in the outbox already stays unchanged. Damaged keys of webhooks stop no
-- conversation (I12). A tenant without webhooks costs one read.
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

-- Stores an event for a day, and publishes it to clients that listen now. The published event may be lost. `fields`:
-- names and values. The channel is the key of the stream, the message the type and the first value.
local function emit(type, fields)
  local event = redis.call('XADD', ev, 'MAXLEN', '~', EVENTS_KEPT, '*', 'type', type, unpack(fields))
  redis.call('PEXPIRE', ev, EVENT_TTL_MS)
  enter_outbox(type, event)
  redis.call('PUBLISH', ev, type .. ' ' .. fields[2])
end
