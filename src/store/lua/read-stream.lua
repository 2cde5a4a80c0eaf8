-- Reads new log entries, state and new stream entries of a turn at one moment. If the stream has many new entries, the
-- script returns only the id of the last entry. The caller then reads the entries without a script, because Lua takes
-- ten times as long as XRANGE.
-- `seq`, `after`: the last log entry, and the last stream entry, that the reader has. `maxBytes`: most bytes of log
-- entries. `maxEntries`: most stream entries. The rest: packed log entries, from the first entry of the reply on, ''
-- for each that no pack holds.
-- Reply: {} without such a turn | {state, start of the wait or '', last seq of the log, seq of the first log entry, 1
-- if log entries are left, '' or the id of the last stream entry, {log entry…}, {stream entry…}, 1 if the caller has to
-- read the first entry from a pack, the first turn of the mailbox and the start of its wait if this turn is queued
-- behind it, else '' twice}
-- @args turn, seq, maxBytes, after, maxEntries, ...
-- @include key-names
local state, input_seq, since, is_held, step = unpack(redis.call('HMGET', turnPrefix .. turn, 'state', 'inputSeq', 'waitSince', 'waitHeld', 'waitStep'))
local head = redis.call('HGET', c, 'head')
if not state or not head then return {} end
-- For readers, all waits of a step at the gate of its model count as one wait.
if is_held then since = redis.call('HGET', turnPrefix .. turn, 'suspendedSince:' .. step) or since end

local first, entries, bytes, has_more, is_packed = math.max(tonumber(seq), tonumber(input_seq or 0)) + 1, {}, 0, 0, 0
for at = first, tonumber(head) do
  local entry = ARGV[rest + at - first]
  if not entry or entry == '' then entry = redis.call('HGET', log, at) end
  if not entry then
    if #entries == 0 then is_packed = 1 else has_more = 1 end
    break
  end
  local writer = string.match(entry, '^%S+ %S+ %S+ %S+ %S+ (%S+)\n')
  -- The message of a turn that steered this turn counts as an entry of this turn.
  if not writer or (writer ~= turn and redis.call('HGET', turnPrefix .. writer, 'steeredInto') ~= turn) then break end
  bytes = bytes + #entry
  if #entries > 0 and bytes > tonumber(maxBytes) then
    has_more = 1
    break
  end
  entries[#entries + 1] = entry
end
local pieces, last = redis.call('XRANGE', streamPrefix .. turn, '(' .. after, '+', 'COUNT', maxEntries + 1), ''
if #pieces > tonumber(maxEntries) then
  last = redis.call('XREVRANGE', streamPrefix .. turn, '+', '-', 'COUNT', 1)[1][1]
  pieces = {}
end
local ahead, ahead_state, ahead_since = state == 'queued' and redis.call('LINDEX', mb, 0)
if ahead and ahead ~= turn then
  ahead_state, ahead_since = unpack(redis.call('HMGET', turnPrefix .. ahead, 'state', 'waitSince'))
end
local is_behind = ahead_state == 'waiting' and ahead_since
return { state, state == 'waiting' and since or '', head, first, has_more, last, entries, pieces, is_packed,
  is_behind and ahead or '', is_behind and ahead_since or '' }
