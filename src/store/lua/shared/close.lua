-- Requires: keys, append, calls. Defines: close_open_calls. Appends a result for every tool call without one, oldest first,
-- because no message may follow an unanswered call. A call that a service has answered gets that answer. Every other call
-- gets the same error result. The calling script then stores the new end of the log. The parameter `closing` is the error
-- result for an unanswered call: { content as JSON, tokens, bytes }.
local function find_result(turn, call, closing)
  local accepted = redis.call('HMGET', turn_prefix .. turn, 'waitUnused:' .. call, 'a:' .. call)
  if not accepted[1] then return closing[2], closing[3], '{"content":' .. closing[1] .. ',"isError":true}' end
  local tokens, bytes, result = string.match(accepted[1], '^(%d+) (%d+)\n(.*)$')
  return tokens, bytes, result == '' and accepted[2] or result
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
  for _, call in ipairs(calls) do drop(record, 'o:' .. call) end
  drop(record, 'open')
  append_messages(list, 1, turn)
end
