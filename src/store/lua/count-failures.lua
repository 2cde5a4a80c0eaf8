-- Counts the turns of a shard that failed, for each of the last minutes. Writes nothing. A set of the wrong type counts
-- as empty.
-- `at`: a time in the last minute, in ms.
-- Reply: counts, oldest minute first. Empty if no turn failed in these minutes.
-- @keys failed
-- @args at, minutes
local MINUTE_MS = 60000
local last = math.floor(tonumber(at) / MINUTE_MS)

local function count(from, to)
  local found = redis.pcall('ZCOUNT', failed, string.format('%.0f', from * MINUTE_MS), '(' .. string.format('%.0f', to * MINUTE_MS))
  return type(found) == 'number' and found or 0
end

local counts = {}
if count(last - minutes + 1, last + 1) == 0 then return counts end
for minute = last - minutes + 1, last do
  counts[#counts + 1] = count(minute, minute + 1)
end
return counts
