-- The calls that a turn waits for, as its field `wcalls` holds them: a line for each, its id and its deadline in ms.
-- Answers the ids in their order, and the deadlines by id.
local function read_awaited(lines)
  local calls, deadlines = {}, {}
  for call, deadline in string.gmatch(lines or '', '(%S+) (%d+)') do
    calls[#calls + 1] = call
    deadlines[call] = tonumber(deadline)
  end
  return calls, deadlines
end

-- Needs: keys. Keeps a field `w:` of a turn for each awaited call that is open, in place of those of its earlier wait. The calls
-- lie in ARGV from `first` on, a call in every second place. Answers how many are open.
local function keep_open_calls(key, earlier, first)
  local open = 0
  for _, call in ipairs(earlier) do redis.call('HDEL', key, 'w:' .. call) end
  for at = first, #ARGV, 2 do
    if redis.call('HEXISTS', c, 'o:' .. ARGV[at]) == 1 then open = open + redis.call('HSET', key, 'w:' .. ARGV[at], '') end
  end
  return open
end

-- How many steps a turn has recorded or started.
local function count_steps(key)
  local steps = 0
  for _, name in ipairs(redis.call('HKEYS', key)) do
    if string.find(name, '^s:') then steps = steps + 1 end
  end
  return steps
end
