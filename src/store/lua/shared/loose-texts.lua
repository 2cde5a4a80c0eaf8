-- Requires: keys. Defines: drop_versions, remove_loose_texts.
-- The text of a summary is removed once no kept version shows it. After versions are dropped, each commit searches a part of the
-- kept versions, oldest first, for their texts. The part is limited by bytes, but has at least two versions, because each
-- commit adds one. All 200 versions of a conversation with 600 summaries are 30 MB, and one search held Redis for a third of a
-- second. A version that shows a text again has a higher number, so it is searched before the end.
local LOOK_BYTES = 1000000

-- Fields of cp. LOOSE: number of the last version searched, and the keys not found so far. It stays without keys as a sign that
-- all texts were searched once. DROPPED: keys to search afterwards.
local LOOSE, DROPPED = 'loose', 'dropped'

-- Keys are not escaped, and no key holds a quote.
local function read_keys(field)
  local looked, list = string.match(redis.call('HGET', cp, field) or '0', '^(%d+)(.*)$')
  local keys = {}
  -- A corrupt list costs the memory of its texts, nothing else.
  if not looked then return keys, 0 end
  for key in string.gmatch(list, '[^"]+') do keys[key] = true end
  return keys, tonumber(looked)
end

local function keep_keys(field, keys, looked)
  local list = { looked }
  for key in pairs(keys) do list[#list + 1] = key end
  redis.call('HSET', cp, field, table.concat(list, '"'))
end

-- Calls `act` with each key that a version shows. Returns the version's bytes. The JSON is searched as text: a decoded version
-- costs far more.
local function each_shown(number, act)
  local version = redis.call('HGET', ver, number)
  for key in string.gmatch(version, 'Key":"([^"]+)"') do act(key) end
  return #version
end

-- The next version shows most of what a dropped one did. The first call treats all texts as loose.
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

-- kept: numbers of all versions, ascending.
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
