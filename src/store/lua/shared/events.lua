-- Needs: keys. Makes an event durable for a day and tells those who listen now; the telling may be lost.
-- fields: flat list of names and values. The channel is the stream's key, its text the type and the first value.
local EVENT_TTL_MS, EVENTS_KEPT = 86400000, 500

local function emit(type, fields)
  redis.call('XADD', ev, 'MAXLEN', '~', EVENTS_KEPT, '*', 'type', type, unpack(fields))
  redis.call('PEXPIRE', ev, EVENT_TTL_MS)
  redis.call('PUBLISH', ev, type .. ' ' .. fields[2])
end
