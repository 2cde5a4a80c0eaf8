-- Include first: nothing. Reads ARGV in order.
local position = 0
local function take()
  position = position + 1
  return ARGV[position]
end

-- Reads a number from ARGV, and then that many values.
local function take_list()
  local list = {}
  for at = 1, tonumber(take()) do list[at] = take() end
  return list
end
