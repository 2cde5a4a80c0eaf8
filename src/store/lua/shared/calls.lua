-- Needs: keys. Each open call is a field of c of its own, so that a result costs the same however many calls are open: `o:` and
-- the call's id (ours, c<seq>_<index>: safe inside JSON), with the provider's id as JSON where it has another, else ''. Field
-- `open` counts them.
local OPEN_CALL = '^o:c(%d+)_(%d+)$'

-- The ids of the open calls, in the order in which they were made. Refuses one that would not be safe inside JSON.
local function read_open_calls()
  local calls, places = {}, {}
  if (redis.call('HGET', c, 'open') or '0') == '0' then return calls end
  for _, field in ipairs(redis.call('HKEYS', c)) do
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
