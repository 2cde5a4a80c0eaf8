-- Needs: append, calls. Answers every open call with the same error result, oldest call first, so that no later message
-- follows an unanswered call; the caller saves where the log ends then. closing: { content as JSON, tokens, bytes }.
local function close_open_calls(turn, closing)
  local calls = read_open_calls()
  if #calls == 0 then return end
  local list = { #calls }
  for _, call in ipairs(calls) do
    list[#list + 1] = closing[2]
    list[#list + 1] = closing[3]
    list[#list + 1] = 0
    list[#list + 1] = '{"role":"tool","content":' .. closing[1] .. ',"toolCallId":"' .. call.id .. '","isError":true}'
  end
  write_open_calls({})
  append_messages(list, 1, turn)
end
