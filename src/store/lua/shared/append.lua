-- Needs: keys. Appends messages to the log and moves the head, the totals and the count of turns with it.
-- list[at]: the count; behind it per message tokens, bytes, 1 for a user message, JSON. turn: its id or '-'.
-- Answers the new head and the index behind the last element read.
local function append_list(list, at, turn)
  local count = tonumber(list[at])
  local state = redis.call('HMGET', c, 'head', 'ht', 'hb', 'turns')
  local head, tokens, bytes, turns =
    tonumber(state[1] or 0), tonumber(state[2] or 0), tonumber(state[3] or 0), tonumber(state[4] or 0)
  at = at + 1
  for _ = 1, count do
    head = head + 1
    tokens = tokens + list[at]
    bytes = bytes + list[at + 1]
    turns = turns + list[at + 2]
    local line = table.concat({ list[at], list[at + 1], string.format('%.0f', tokens), string.format('%.0f', bytes),
      string.format('%.0f', now), turn }, ' ')
    redis.call('HSET', log, head, line .. '\n' .. list[at + 3])
    at = at + 4
  end
  redis.call('HSET', c, 'head', head, 'ht', string.format('%.0f', tokens), 'hb', string.format('%.0f', bytes), 'turns', turns)
  return head, at
end

-- The same from ARGV.
local function append_messages(at, turn)
  return append_list(ARGV, at, turn)
end
