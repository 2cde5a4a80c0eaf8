-- Lists the turns of one shard that wait for tool results or approvals from outside, by name. Writes nothing.
-- `after`: name to continue after. `prefix`: beginning of the names. `maxNames`: most names to examine. `limit`: most
-- rows. `kind`: of the wait, '' for any. `maxBytes`: most bytes of calls.
-- Reply: {last name examined or '', count of names examined, 1 at the end of the shard, {name, agent, WAIT_FIELDS in
-- turn-record.ts}…}
-- @keys waiting
-- @args shard, after, prefix, maxNames, limit, kind, maxBytes
-- @include page
local names = read_page(waiting, after, prefix, maxNames)
local rows, last, examined, bytes = {}, '', 0, 0
for _, name in ipairs(names) do
  if #rows == tonumber(limit) or bytes >= tonumber(maxBytes) then break end
  last, examined = name, examined + 1
  local tenant, waits_for, id, turn = string.match(name, '^([^|]+)|([^|]+)|([^|]+)|(.+)$')
  if turn and (kind == '' or kind == waits_for) then
    -- A corrupt turn is left out, so that the others are still listed.
    local fields = redis.pcall('HMGET', shard .. tenant .. ':t:' .. id .. ':' .. turn, 'state', 'agent', 'waitFor', 'waitStep',
      'waitSince', 'waitUntil', 'waitCalls', 'waitArguments', 'decisions')
    -- An interrupted erase may have removed the turn, but not its entry in the set.
    if fields[1] == 'waiting' and fields[3] == waits_for and fields[8] then
      rows[#rows + 1] = { name, unpack(fields, 2) }
      bytes = bytes + #fields[8]
    end
  end
end
local is_end = #names < tonumber(maxNames) and examined == #names
return { last, examined, is_end and 1 or 0, unpack(rows) }
