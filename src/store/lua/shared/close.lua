-- Needs: keys, append. Answers every open call with the same error result, oldest call first, so that no later message
-- follows an unanswered call. content: JSON text. Our call ids are c<seq>_<index>: safe inside JSON.
local function close_open_calls(turn, content, tokens, bytes)
  local calls = {}
  for _, field in ipairs(redis.call('HKEYS', c)) do
    local seq, index = string.match(field, '^o:c(%d+)_(%d+)$')
    if seq then calls[#calls + 1] = { seq = tonumber(seq), index = tonumber(index), id = string.sub(field, 3) } end
  end
  if #calls == 0 then return end
  table.sort(calls, function(a, b) return a.seq < b.seq or (a.seq == b.seq and a.index < b.index) end)
  local list = { #calls }
  for _, call in ipairs(calls) do
    list[#list + 1] = tokens
    list[#list + 1] = bytes
    list[#list + 1] = 0
    list[#list + 1] = '{"role":"tool","content":' .. content .. ',"toolCallId":"' .. call.id .. '","isError":true}'
    redis.call('HDEL', c, 'o:' .. call.id)
  end
  append_list(list, 1, turn)
end
