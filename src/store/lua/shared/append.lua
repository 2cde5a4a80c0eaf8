-- Needs: keys, conversation. Appends messages to the log and puts the head, the totals and the count of turns that come of
-- it; the caller saves them.
-- list[at]: the count; behind it per message tokens, bytes, 1 for a user message, JSON. turn: its id or '-'.
-- Answers the new head.
local function append_messages(list, at, turn)
  local head, tokens, bytes, turns = tonumber(conversation.head or 0), tonumber(conversation.ht or 0),
    tonumber(conversation.hb or 0), tonumber(conversation.turns or 0)
  for first = at + 1, at + 4 * list[at], 4 do
    head = head + 1
    tokens = tokens + list[first]
    bytes = bytes + list[first + 1]
    turns = turns + list[first + 2]
    local line = string.format('%s %s %.0f %.0f %.0f %s\n', list[first], list[first + 1], tokens, bytes, now, turn)
    redis.call('HSET', log, head, line .. list[first + 3])
  end
  put('head', head)
  put('ht', tokens)
  put('hb', bytes)
  put('turns', turns)
  return head
end
