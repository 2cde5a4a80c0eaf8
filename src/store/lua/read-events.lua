-- Reads a page of a conversation's events, and whether an event before the page is missing. A kept id proves that all later
-- events are kept, because only the oldest are trimmed. An id that is not kept proves nothing.
-- ARGV: id of the last event read, '0-0' for the beginning, '' for the present end; limit
-- Reply: {'kept'|'missing'|'expired', id to read after if the page is empty, 1 if the conversation or an event exists,
-- {id, {name, value…}}…}
-- @include key-names
-- @include events
local after, limit = ARGV[1], tonumber(ARGV[2])
local is_there = math.min(redis.call('EXISTS', c, ev), 1)
if after == '' then
  local last = redis.call('XREVRANGE', ev, '+', '-', 'COUNT', 1)[1]
  return { 'kept', last and last[1] or '0-0', is_there }
end
local found = redis.call('XRANGE', ev, after, '+', 'COUNT', limit + 1)
if found[1] and found[1][1] == after then
  return { 'kept', after, is_there, unpack(found, 2) }
end
-- A conversation created again may have smaller ids, if the clock went back.
found = redis.call('XRANGE', ev, '-', '+', 'COUNT', limit)
local start = 'missing'
if after == '0-0' then
  -- A shorter stream was never trimmed.
  if redis.call('XLEN', ev) < EVENTS_KEPT then start = 'kept' end
elseif not found[1] and redis.call('EXISTS', c) == 1 and string.match(after, '^%d+') + EVENT_TTL_MS <= now then
  start = 'expired'
end
return { start, '0-0', is_there, unpack(found) }
