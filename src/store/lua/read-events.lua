-- Reads a page of events. If the event to read after still exists, all later ones exist, because only the oldest are
-- dropped. Otherwise events may be missing.
-- `after`: id of the last event that the reader has, '0-0' for the beginning, '' for the present end.
-- Reply: {'kept'|'missing'|'expired', id to read after if the page is empty, 1 if the conversation or an event exists,
-- {id, {name, value…}}…}
-- @args after, limit
-- @include events
local is_there = math.min(redis.call('EXISTS', c, ev), 1)
if after == '' then
  local last = redis.call('XREVRANGE', ev, '+', '-', 'COUNT', 1)[1]
  return { 'kept', last and last[1] or '0-0', is_there }
end
local found = redis.call('XRANGE', ev, after, '+', 'COUNT', limit + 1)
if found[1] and found[1][1] == after then
  return { 'kept', after, is_there, unpack(found, 2) }
end
-- After an erase, the events start again. If the clock went back, new events may have smaller ids than the reader's
-- last event.
found = redis.call('XRANGE', ev, '-', '+', 'COUNT', limit)
local start = 'missing'
if after == '0-0' then
  -- A stream that is shorter than the limit never dropped an event.
  if redis.call('XLEN', ev) < EVENTS_KEPT then start = 'kept' end
elseif not found[1] and redis.call('EXISTS', c) == 1 and string.match(after, '^%d+') + EVENT_TTL_MS <= now then
  start = 'expired'
end
return { start, '0-0', is_there, unpack(found) }
