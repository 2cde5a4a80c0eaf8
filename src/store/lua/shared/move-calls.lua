-- Requires: keys. Defines: move_calls.
-- opened: lines of opened calls, as `encodeOpenCall` writes them. answered: ids of calls that were answered.
local function move_calls(opened, answered)
  local change = 0
  local function add(count) record.values.open = tostring(redis.call('HINCRBY', c, 'open', count)) end
  for _, line in ipairs(opened) do
    local call, provider = string.match(line, '^(%S+) ?(.*)$')
    change = change + put(record, 'o:' .. call, provider) -- no other field of the hash is staged yet
  end
  -- A full Redis refuses a script at its first write, but only if the write is of a command that can need memory. If
  -- the first write were a removal, the script would not be refused and would write the rest.
  if #answered > 0 then add(0) end
  for _, call in ipairs(answered) do change = change - drop(record, 'o:' .. call) end
  if change ~= 0 then add(change) end
end
