-- Requires: keys. Defines: emit, EVENT_TTL_MS, EVENTS_KEPT. Writes an event that is kept for a day, enters it in the outbox of
-- webhooks, and publishes it to clients that are listening now. The publication may be lost.
-- fields: names and values. The channel is the key of the stream. The message is the type and the first value.
-- @include outbox
local EVENT_TTL_MS, EVENTS_KEPT = 86400000, 500

local function emit(type, fields)
  local event = redis.call('XADD', ev, 'MAXLEN', '~', EVENTS_KEPT, '*', 'type', type, unpack(fields))
  redis.call('PEXPIRE', ev, EVENT_TTL_MS)
  enter_outbox(type, event)
  redis.call('PUBLISH', ev, type .. ' ' .. fields[2])
end
