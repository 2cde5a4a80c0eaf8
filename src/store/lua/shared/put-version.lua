-- Needs: keys, args, events. Takes a version from ARGV, makes it the live one, tells of it, and drops the oldest ones above
-- those to keep, never the live one.
-- number, version (JSON), its tokens and bytes, base, the log's tokens and bytes up to base, versions to keep, event fields
-- (name, value) with their count before them
local function put_version()
  local number, version = take(), take()
  local shape = { take(), take(), take(), take(), take() }
  local keep, event = tonumber(take()), {}
  for _ = 1, 2 * tonumber(take()) do event[#event + 1] = take() end
  redis.call('HSET', ver, number, version)
  redis.call('HSET', c, 'version', number, 'shape', table.concat(shape, ' '))
  local numbers = redis.call('HKEYS', ver)
  table.sort(numbers, function(a, b) return tonumber(a) < tonumber(b) end)
  for at = 1, math.min(#numbers - keep, #numbers - 1) do redis.call('HDEL', ver, numbers[at]) end
  emit('version_committed', event)
end
