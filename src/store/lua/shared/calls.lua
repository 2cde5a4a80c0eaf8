-- Requires: keys. Defines: read_open_calls. Each tool call without a result is a field of the conversation's hash. So
-- recording one result costs the same however many calls are open. The name of the field is `o:` and our call id
-- (c<seq>_<index>, safe inside JSON). The value is the provider's id as JSON if that differs, else ''. The field `open`
-- counts the open calls.
local OPEN_CALL = '^o:c(%d+)_(%d+)$'

-- Returns the ids of the tool calls without a result, oldest first. An id with characters that are not safe inside JSON
-- counts as a corrupt record.
local function read_open_calls()
  local calls, places = {}, {}
  if (value_of(record, 'open') or '0') == '0' then return calls end
  local fields = fields_of(record)
  for at = 1, #fields, 2 do
    local field = fields[at]
    if string.sub(field, 1, 2) == 'o:' then
      local seq, index = string.match(field, OPEN_CALL)
      if not seq then refuse(c, field) end
      local call = string.sub(field, 3)
      calls[#calls + 1] = call
      places[call] = { tonumber(seq), tonumber(index) }
    end
  end
  table.sort(calls, function(one, other)
    local left, right = places[one], places[other]
    if left[1] ~= right[1] then return left[1] < right[1] end
    return left[2] < right[2]
  end)
  return calls
end
