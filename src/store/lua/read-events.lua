-- A page of a conversation's events, and whether any is missing before it. An id that is kept has all behind it, for only the
-- oldest are trimmed; of one that is not, nobody knows. (That Redis counts what it added and deleted is new in 7.0.)
-- ARGV: id of the last event that was read, '0-0' before all, '' for none that is there; how many at most
-- Reply: {'kept'|'missing'|'expired', id to read after where the page is empty, 1 where there is a conversation or an event,
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
-- Another one's ids may be smaller, where a clock went back.
found = redis.call('XRANGE', ev, '-', '+', 'COUNT', limit)
local start = 'missing'
if after == '0-0' then
  -- What is shorter was never trimmed.
  if redis.call('XLEN', ev) < EVENTS_KEPT then start = 'kept' end
elseif not found[1] and redis.call('EXISTS', c) == 1 and string.match(after, '^%d+') + EVENT_TTL_MS <= now then
  start = 'expired'
end
return { start, '0-0', is_there, unpack(found) }
