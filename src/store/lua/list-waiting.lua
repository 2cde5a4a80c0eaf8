-- Turns of one shard that wait for answers from outside, in the order of their names. Writes nothing.
-- KEYS: waiting turns of the shard. ARGV: what the shard's keys begin with, name to go on after or '', what the names begin
-- with or '', most names that are looked at, most rows, kind of the wait or '', most bytes of calls
-- Reply: {the last name that was looked at or '', how many were, 1 where the shard ends there, {name, agent, WAIT_FIELDS in turn-record.ts}…}
-- @include page
local prefix, after, name_prefix, looks, limit, kind, most_bytes = unpack(ARGV)
looks, limit, most_bytes = tonumber(looks), tonumber(limit), tonumber(most_bytes)
local names = read_page(KEYS[1], after, name_prefix, looks)
local rows, last, looked, bytes = {}, '', 0, 0
for _, name in ipairs(names) do
  if #rows == limit or bytes >= most_bytes then break end
  last, looked = name, looked + 1
  local tenant, waits_for, id, turn = string.match(name, '^([^|]+)|([^|]+)|([^|]+)|(.+)$')
  if turn and (kind == '' or kind == waits_for) then
    -- Of a record that cannot be read nothing is extra: the others were asked for as well. It has no fields here.
    local fields = redis.pcall('HMGET', prefix .. tenant .. ':t:' .. id .. ':' .. turn, 'state', 'agent', 'wfor', 'wstep',
      'wsince', 'wuntil', 'wcalls', 'wasks')
    -- An erase that was cut off may leave an entry of a turn that is gone.
    if fields[1] == 'waiting' and fields[3] == waits_for and fields[8] then
      rows[#rows + 1] = { name, unpack(fields, 2) }
      bytes = bytes + #fields[8]
    end
  end
end
local is_end = #names < looks and looked == #names
return { last, looked, is_end and 1 or 0, unpack(rows) }
