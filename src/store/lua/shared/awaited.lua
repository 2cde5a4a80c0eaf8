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
