-- Reads ARGV in order.
local position = 0
local function take()
  position = position + 1
  return ARGV[position]
end
