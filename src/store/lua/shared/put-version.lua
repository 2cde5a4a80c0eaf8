-- @include args
-- @include events
-- @include record
-- @include collect-texts
-- @include stream

-- Restore points are versions of a restore or a rollback, and versions that a service replaced. Restore points are kept
-- as long as the conversation.
local function read_points()
  local points = {}
  for number in string.gmatch(value_of(record, 'points') or '', '%d+') do points[number] = true end
  return points
end

local function keep_version(number)
  if number == '0' or read_points()[number] then return end
  put(record, 'points', (value_of(record, 'points') or '') .. ' ' .. number)
end

local function read_numbers()
  local numbers = {}
  for _, name in ipairs(redis.call('HKEYS', ver)) do
    if string.find(name, '^%d+$') then numbers[#numbers + 1] = name end
  end
  table.sort(numbers, function(a, b) return tonumber(a) < tonumber(b) end)
  return numbers
end

-- Drops the oldest versions, but never the live version.
local function drop_oldest(keep)
  local is_point, numbers, dropped = read_points(), {}, {}
  for _, number in ipairs(read_numbers()) do
    if not is_point[number] then numbers[#numbers + 1] = number end
  end
  for at = 1, math.min(#numbers - keep, #numbers - 1) do dropped[at] = numbers[at] end
  if #dropped > 0 then drop_versions(dropped, numbers[#dropped + 1]) end
  collect_texts(read_numbers())
end

-- Makes a version live. The next arguments are its number, its JSON, then its tokens, bytes and last seq. Tokens and
-- bytes of the log up to there follow. The last are the number of versions to keep, and
-- the event as counted pairs. `versionArgs` of store/version-record.ts writes them in this order.
local function put_version()
  local number, version = take(), take()
  local live_size = { take(), take(), take(), take(), take() }
  local keep, event = tonumber(take()), {}
  for _ = 1, 2 * tonumber(take()) do event[#event + 1] = take() end
  redis.call('HSET', ver, number, version)
  put(record, 'version', number, 'liveSize', table.concat(live_size, ' '))
  drop_oldest(keep)
  -- The new version may show fewer messages, so more log entries may be packed.
  -- @include packing
  schedule_packing(now)
  emit('version_committed', event)
  stream_compaction(event)
end
