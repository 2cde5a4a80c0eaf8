-- Needs: keys, append, calls. Answers every open call, oldest call first, so that no later message follows an unanswered call; the
-- caller saves where the log ends then. A call whose answer was acknowledged gets that answer, any other the same error result.
-- closing: { content as JSON, tokens, bytes }.
local function find_result(turn, call, closing)
  local brought = redis.call('HMGET', tbase .. turn, 'wa:' .. call, 'a:' .. call)
  if not brought[1] then return closing[2], closing[3], '{"content":' .. closing[1] .. ',"isError":true}' end
  local tokens, bytes, result = string.match(brought[1], '^(%d+) (%d+)\n(.*)$')
  return tokens, bytes, result == '' and brought[2] or result
end

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
  for _, call in ipairs(calls) do redis.call('HDEL', c, 'o:' .. call) end
  redis.call('HDEL', c, 'open')
  append_messages(list, 1, turn)
end
