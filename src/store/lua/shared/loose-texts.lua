-- Needs: keys. The text of a summary goes once no kept version shows it. Those of dropped versions are looked for in the
-- kept ones, oldest first, so much of these with each commit, but two, for each adds one: all 200 of a conversation of 600 summaries are 30 MB, and
-- held Redis for a third of a second. Whatever shows one again meanwhile is a version
-- of a higher number, and comes before the end.
local LOOK_BYTES = 1000000

-- Fields of cp, beside the texts. LOOSE: the number of the version looked at last, and the keys not found so far; it stays
-- without keys, as a sign that all texts were looked for once. DROPPED: keys that have their turn after these.
local LOOSE, DROPPED = 'loose', 'dropped'

-- Nothing in a key is escaped, and none holds a quote.
local function read_keys(field)
  local looked, list = string.match(redis.call('HGET', cp, field) or '0', '^(%d+)(.*)$')
  local keys = {}
  -- A corrupt list costs the room of the texts that it named.
  if not looked then return keys, 0 end
  for key in string.gmatch(list, '[^"]+') do keys[key] = true end
  return keys, tonumber(looked)
end

local function keep_keys(field, keys, looked)
  local list = { looked }
  for key in pairs(keys) do list[#list + 1] = key end
  redis.call('HSET', cp, field, table.concat(list, '"'))
end

-- Calls `act` with each key that a version shows; answers the version's bytes. It is read as text, from the x of "text" on.
local function each_shown(number, act)
  local version = redis.call('HGET', ver, number)
  for key in string.gmatch(version, 'xt":"([^"]+)"') do act(key) end
  return #version
end

-- The next version shows most of what a dropped one did. At the first time all texts are loose: programs from before this
-- one dropped versions without their texts.
local function drop_versions(numbers, next_number)
  local keys = read_keys(DROPPED)
  local function loosen(key) keys[key] = true end
  if redis.call('HEXISTS', cp, LOOSE) == 0 then
    for _, field in ipairs(redis.call('HKEYS', cp)) do string.gsub(field, '^k:(.+)$', loosen) end
  end
  for _, number in ipairs(numbers) do
    each_shown(number, loosen)
    redis.call('HDEL', ver, number)
  end
  each_shown(next_number, function(key) keys[key] = nil end)
  keep_keys(DROPPED, keys, 0)
end

-- kept: numbers of all versions, ascending
local function remove_loose_texts(kept)
  local keys, looked = read_keys(LOOSE)
  if not next(keys) then
    keys = read_keys(DROPPED)
    if redis.call('HDEL', cp, DROPPED) == 0 then return end
    looked = 0
  end
  local bytes, looks = 0, 0
  for _, number in ipairs(kept) do
    if tonumber(number) > looked and next(keys) then
      if bytes >= LOOK_BYTES and looks > 1 then return keep_keys(LOOSE, keys, looked) end
      bytes = bytes + each_shown(number, function(key) keys[key] = nil end)
      looks, looked = looks + 1, tonumber(number)
    end
  end
  for key in pairs(keys) do redis.call('HDEL', cp, 'k:' .. key) end
  keep_keys(LOOSE, {}, 0)
end
