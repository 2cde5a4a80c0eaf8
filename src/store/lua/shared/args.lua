-- Returns the next argument behind the named ones.
local function take()
  rest = rest + 1
  return ARGV[rest - 1]
end

-- Returns the next list: a number, and then that many arguments.
local function take_list()
  local list = {}
  for at = 1, tonumber(take()) do list[at] = take() end
  return list
end
