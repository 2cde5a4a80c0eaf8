-- Include first: keys. Removes the text of a summary once no kept version shows it. After old versions were dropped,
-- each commit searches some of the kept ones for their texts, oldest first. One commit searches up to SEARCH_BYTES, but
-- at least two versions, because each commit adds one. The 200 versions of a conversation with 600 summaries are 30 MB.
-- A search of all versions at once blocked Redis for a third of a second. A version that shows a text again has a
-- higher number, so the search still meets it.
local SEARCH_BYTES = 1000000

-- Fields of txt. LOOSE: number of the last searched version, and the keys that no searched version shows. DROPPED: keys
-- for the next search.
local LOOSE, DROPPED = 'loose', 'dropped'

-- Reads the keys in a field. No key contains a quotation mark, so quotation marks separate the keys.
local function read_keys(field)
  local searched, list = string.match(redis.call('HGET', txt, field) or '0', '^(%d+)(.*)$')
  local keys = {}
  -- If the list is corrupt, its texts are never removed. This wastes memory, but loses nothing.
  if not searched then return keys, 0 end
  for key in string.gmatch(list, '[^"]+') do keys[key] = true end
  return keys, tonumber(searched)
end

local function keep_keys(field, keys, searched)
  local list = { searched }
  for key in pairs(keys) do list[#list + 1] = key end
  redis.call('HSET', txt, field, table.concat(list, '"'))
end

-- Calls `act` with each key of a version, and returns its bytes. Decoding a version would cost far more than searching
-- its JSON.
local function each_shown(number, act)
  local version = redis.call('HGET', ver, number)
  for key in string.gmatch(version, 'Key":"([^"]+)"') do act(key) end
  return #version
end

-- Drops versions. The oldest version that stays shows most texts of the dropped versions, so it is searched at once.
-- The first call searches all texts.
local function drop_versions(numbers, next_number)
  local keys = read_keys(DROPPED)
  local function loosen(key) keys[key] = true end
  if redis.call('HEXISTS', txt, LOOSE) == 0 then
    for _, field in ipairs(redis.call('HKEYS', txt)) do string.gsub(field, '^k:(.+)$', loosen) end
  end
  for _, number in ipairs(numbers) do
    each_shown(number, loosen)
    redis.call('HDEL', ver, number)
  end
  each_shown(next_number, function(key) keys[key] = nil end)
  keep_keys(DROPPED, keys, 0)
end

-- Searches kept versions for loose texts. kept: the numbers of all versions, ascending.
local function collect_texts(kept)
  local keys, searched = read_keys(LOOSE)
  if not next(keys) then
    keys = read_keys(DROPPED)
    if redis.call('HDEL', txt, DROPPED) == 0 then return end
    searched = 0
  end
  local bytes, searches = 0, 0
  for _, number in ipairs(kept) do
    if tonumber(number) > searched and next(keys) then
      if bytes >= SEARCH_BYTES and searches > 1 then return keep_keys(LOOSE, keys, searched) end
      bytes = bytes + each_shown(number, function(key) keys[key] = nil end)
      searches, searched = searches + 1, tonumber(number)
    end
  end
  for key in pairs(keys) do redis.call('HDEL', txt, 'k:' .. key) end
  keep_keys(LOOSE, {}, 0)
end
