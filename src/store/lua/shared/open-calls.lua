-- An open call is a tool call without a result. Each open call is a field of the conversation, so a result costs the
-- same for any number of calls. The field's name is `o:` and our call id (c<seq>_<index>, safe inside JSON). Its value
-- is the provider's id as JSON, if that differs. The field `open` counts the open calls.
-- @include append
local OPEN_CALL = '^o:c(%d+)_(%d+)$'

-- Returns the open calls, oldest first. An id that is not safe inside JSON counts as corrupt.
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

local function find_result(turn, call, closing)
  local unused, answer = unpack(redis.call('HMGET', turnPrefix .. turn, 'waitUnused:' .. call, 'a:' .. call))
  local tokens, bytes, result = string.match(unused or closing, '^(%d+) (%d+)\n(.*)$')
  if not unused then result = '{"content":' .. result .. ',"isError":true}' end
  return tokens, bytes, result == '' and answer or result
end

-- Appends a result for every open call, because no message may follow an unanswered one. The result is the answer of a
-- service, or the error `closing`: `tokens bytes`, then its content as JSON on the next line.
local function close_open_calls(turn, closing)
  local calls = read_open_calls()
  if #calls == 0 then return end
  local list = { #calls }
  for _, call in ipairs(calls) do
    local tokens, bytes, result = find_result(turn, call, closing)
    list[#list + 1] = tokens
    list[#list + 1] = bytes
    list[#list + 1] = 0
    list[#list + 1] = '{"role":"tool","toolCallId":"' .. call .. '",' .. string.sub(result, 2)
  end
  for _, call in ipairs(calls) do drop(record, 'o:' .. call) end
  drop(record, 'open')
  append_messages(list, 1, turn)
end

-- Updates the open calls. `opened`: lines of encodeOpenCall. `answered`: ids of calls.
local function move_calls(opened, answered)
  local change = 0
  local function add(count) record.values.open = tostring(redis.call('HINCRBY', c, 'open', count)) end
  for _, line in ipairs(opened) do
    local call, provider = string.match(line, '^(%S+) ?(.*)$')
    change = change + put(record, 'o:' .. call, provider) -- no other field of the hash is staged yet
  end
  -- A full Redis refuses a script at its first write that can need memory. Redis would not refuse a removal, so this
  -- write comes first.
  if #answered > 0 then add(0) end
  for _, call in ipairs(answered) do change = change - drop(record, 'o:' .. call) end
  if change ~= 0 then add(change) end
end
