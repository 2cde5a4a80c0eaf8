-- Needs: keys, args, events.

-- Restore points, and what they were put over, are kept besides the others, as long as the conversation.
local function read_points()
  local points = {}
  for number in string.gmatch(redis.call('HGET', c, 'points') or '', '%d+') do points[number] = true end
  return points
end

local function keep_version(number)
  if number == '0' or read_points()[number] then return end
  redis.call('HSET', c, 'points', (redis.call('HGET', c, 'points') or '') .. ' ' .. number)
end

-- Takes a version from ARGV, makes it the live one, tells of it, and drops the oldest ones above those to keep, never the
-- live one.
-- number, version (JSON), its tokens and bytes, base, the log's tokens and bytes up to base, versions to keep, event fields
-- (name, value) with their count before them
local function put_version()
  local number, version = take(), take()
  local shape = { take(), take(), take(), take(), take() }
  local keep, event = tonumber(take()), {}
  for _ = 1, 2 * tonumber(take()) do event[#event + 1] = take() end
  redis.call('HSET', ver, number, version)
  redis.call('HSET', c, 'version', number, 'shape', table.concat(shape, ' '))
  local numbers, points = {}, read_points()
  for _, kept in ipairs(redis.call('HKEYS', ver)) do
    if not points[kept] then numbers[#numbers + 1] = kept end
  end
  table.sort(numbers, function(a, b) return tonumber(a) < tonumber(b) end)
  for at = 1, math.min(#numbers - keep, #numbers - 1) do redis.call('HDEL', ver, numbers[at]) end
  emit('version_committed', event)
end
