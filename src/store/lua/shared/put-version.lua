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

-- What dropped versions show goes with them, unless a kept one shows it: most often the first of these, the oldest, does. A
-- version is read as text: nothing in a key of a text is escaped. Looked for from the x of "text" on, the rarest letter there:
-- from the quote before it takes ten times as long.
local function drop_versions(dropped, kept)
  local shown = {}
  for _, number in ipairs(dropped) do
    for key in string.gmatch(redis.call('HGET', ver, number), '"text":"([^"]+)"') do shown[key] = true end
    redis.call('HDEL', ver, number)
  end
  for _, number in ipairs(kept) do
    if not next(shown) then return end
    local version = redis.call('HGET', ver, number)
    for key in pairs(shown) do
      if string.find(version, 'xt":"' .. key .. '"', 1, true) then shown[key] = nil end
    end
  end
  for key in pairs(shown) do redis.call('HDEL', cp, 'k:' .. key) end
end

-- Drops the oldest versions above those to keep, never the live one.
local function drop_oldest(keep)
  local numbers, points, dropped, kept = {}, {}, {}, {}
  local is_point = read_points()
  for _, number in ipairs(redis.call('HKEYS', ver)) do table.insert(is_point[number] and points or numbers, number) end
  local count = math.min(#numbers - keep, #numbers - 1)
  if count < 1 then return end
  table.sort(numbers, function(a, b) return tonumber(a) < tonumber(b) end)
  for at, number in ipairs(numbers) do table.insert(at > count and kept or dropped, number) end
  for _, number in ipairs(points) do table.insert(kept, number) end
  drop_versions(dropped, kept)
end

-- Takes a version from ARGV, makes it the live one and tells of it.
-- number, version (JSON), its tokens and bytes, base, the log's tokens and bytes up to base, versions to keep, event fields
-- (name, value) with their count before them
local function put_version()
  local number, version = take(), take()
  local shape = { take(), take(), take(), take(), take() }
  local keep, event = tonumber(take()), {}
  for _ = 1, 2 * tonumber(take()) do event[#event + 1] = take() end
  redis.call('HSET', ver, number, version)
  redis.call('HSET', c, 'version', number, 'shape', table.concat(shape, ' '))
  drop_oldest(keep)
  emit('version_committed', event)
end
