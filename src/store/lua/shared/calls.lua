-- Needs: keys, conversation. Open calls lie in one field of c, in the order in which they were made, a line each: the call's
-- id (ours, c<seq>_<index>: safe inside JSON) and, behind a blank, the provider's id as JSON where it has another.
local function read_open_calls()
  local calls = {}
  for line in string.gmatch(conversation.open, '[^\n]+') do
    calls[#calls + 1] = { id = string.match(line, '^%S+'), line = line }
  end
  return calls
end

local function write_open_calls(calls)
  local lines = {}
  for at, call in ipairs(calls) do lines[at] = call.line end
  conversation.open = table.concat(lines, '\n')
  if #calls == 0 then
    redis.call('HDEL', c, 'open')
  else
    redis.call('HSET', c, 'open', conversation.open)
  end
end
