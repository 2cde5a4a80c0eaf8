-- Needs: args, calls. Takes a count and that many lines of open calls, then a count and that many ids of calls that were
-- answered.
local function move_calls()
  local opened, closed, count = {}, {}, 0
  for at = 1, tonumber(take()) do opened[at] = take() end
  for _ = 1, tonumber(take()) do
    closed[take()] = true
    count = count + 1
  end
  if #opened + count == 0 then return end
  local calls = {}
  for _, call in ipairs(read_open_calls()) do
    if not closed[call.id] then calls[#calls + 1] = call end
  end
  for _, line in ipairs(opened) do calls[#calls + 1] = { line = line } end
  write_open_calls(calls)
end
