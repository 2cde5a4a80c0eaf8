-- Lists the turns of one shard that wait for tool results or approvals from outside, by name. Writes nothing.
-- KEYS: waiting turns of the shard. ARGV: prefix of the shard's keys, name to continue after or '', prefix of the names or '',
-- limit of names to examine, limit of rows, kind of the wait or '', limit of bytes of calls
-- Reply: {last name examined or '', count of names examined, 1 at the end of the shard, {name, agent, WAIT_FIELDS in
-- turn-record.ts}…}
-- @include page
local prefix, after, name_prefix, most_names, limit, kind, most_bytes = unpack(ARGV)
most_names, limit, most_bytes = tonumber(most_names), tonumber(limit), tonumber(most_bytes)
local names = read_page(KEYS[1], after, name_prefix, most_names)
local rows, last, examined, bytes = {}, '', 0, 0
for _, name in ipairs(names) do
  if #rows == limit or bytes >= most_bytes then break end
  last, examined = name, examined + 1
  local tenant, waits_for, id, turn = string.match(name, '^([^|]+)|([^|]+)|([^|]+)|(.+)$')
  if turn and (kind == '' or kind == waits_for) then
    -- A corrupt turn is left out, so that the others are still listed.
    local fields = redis.pcall('HMGET', prefix .. tenant .. ':t:' .. id .. ':' .. turn, 'state', 'agent', 'waitFor', 'waitStep',
      'waitSince', 'waitUntil', 'waitCalls', 'waitArguments', 'decisions')
    -- An interrupted erase may have removed the turn, but not its entry in the set.
    if fields[1] == 'waiting' and fields[3] == waits_for and fields[8] then
      rows[#rows + 1] = { name, unpack(fields, 2) }
      bytes = bytes + #fields[8]
    end
  end
end
local is_end = #names < most_names and examined == #names
return { last, examined, is_end and 1 or 0, unpack(rows) }
