-- @include conversation
-- Appends messages to the log. The calling script stores the new end of the log with save_conversation. list[at] is the
-- number of messages. For each message follow its tokens, its bytes, 1 for a user message or 0, and its JSON. `turn`:
-- the turn that writes, or '-'.
local function append_messages(list, at, turn)
  local head, tokens, bytes, turns = conversation.head, conversation.tokens, conversation.bytes, conversation.turns
  for first = at + 1, at + 4 * list[at], 4 do
    head = head + 1
    tokens = tokens + list[first]
    bytes = bytes + list[first + 1]
    turns = turns + list[first + 2]
    local line = string.format('%s %s %.0f %.0f %.0f %s\n', list[first], list[first + 1], tokens, bytes, now, turn)
    redis.call('HSET', log, head, line .. list[first + 3])
  end
  conversation.head, conversation.tokens, conversation.bytes, conversation.turns = head, tokens, bytes, turns
end
