-- Requires: keys. Defines: read_awaited, keep_open_calls, count_steps.
-- Reads the field `waitCalls` of a waiting turn, which has a line per call: its id and its deadline in ms.
-- Returns the ids in order, and the deadlines by id.
local function read_awaited(lines)
  local calls, deadlines = {}, {}
  for call, deadline in string.gmatch(lines or '', '(%S+) (%d+)') do
    calls[#calls + 1] = call
    deadlines[call] = tonumber(deadline)
  end
  return calls, deadlines
end

-- Writes a field `waitOpen:` of the turn for each open call of this wait, and removes the fields of the earlier wait.
-- ARGV holds a call in every second place, from place `first` on. Returns the count of open calls.
local function keep_open_calls(key, earlier, first)
  local open = 0
  for _, call in ipairs(earlier) do redis.call('HDEL', key, 'waitOpen:' .. call) end
  for at = first, #ARGV, 2 do
    if redis.call('HEXISTS', c, 'o:' .. ARGV[at]) == 1 then
      open = open + redis.call('HSET', key, 'waitOpen:' .. ARGV[at], '')
    end
  end
  return open
end

-- Returns the count of steps that the turn has started or recorded.
local function count_steps(key)
  local steps = 0
  for _, name in ipairs(redis.call('HKEYS', key)) do
    if string.find(name, '^s:') then steps = steps + 1 end
  end
  return steps
end
