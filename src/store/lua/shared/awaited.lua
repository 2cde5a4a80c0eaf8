-- Requires: keys. Defines: read_awaited, keep_open_calls, count_steps.
-- Reads the field `wcalls` of a waiting turn: a line per call, with its id and its deadline in ms.
-- Returns the ids in order, and the deadlines by id.
local function read_awaited(lines)
  local calls, deadlines = {}, {}
  for call, deadline in string.gmatch(lines or '', '(%S+) (%d+)') do
    calls[#calls + 1] = call
    deadlines[call] = tonumber(deadline)
  end
  return calls, deadlines
end

-- Writes a field `w:` of the turn for each open call of this wait, in place of those of an earlier wait.
-- The calls lie in every second place of ARGV from `first` on. Returns how many are open.
local function keep_open_calls(key, earlier, first)
  local open = 0
  for _, call in ipairs(earlier) do redis.call('HDEL', key, 'w:' .. call) end
  for at = first, #ARGV, 2 do
    if redis.call('HEXISTS', c, 'o:' .. ARGV[at]) == 1 then open = open + redis.call('HSET', key, 'w:' .. ARGV[at], '') end
  end
  return open
end

-- Number of steps that a turn has recorded or started.
local function count_steps(key)
  local steps = 0
  for _, name in ipairs(redis.call('HKEYS', key)) do
    if string.find(name, '^s:') then steps = steps + 1 end
  end
  return steps
end
