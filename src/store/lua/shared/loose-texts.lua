-- Requires: keys. Defines: drop_versions, remove_loose_texts.
-- The text of a summary is removed once no kept version shows it. After versions were dropped, each commit searches some of the
-- kept versions, oldest first, for the texts of the dropped versions. One commit searches up to SEARCH_BYTES, but at least
-- two versions, because each commit adds one. The 200 versions of a conversation with 600 summaries are 30 MB, and one search of
-- all blocked Redis for a third of a second. A version that shows a text again has a higher number, so the search still meets
-- that version.
local SEARCH_BYTES = 1000000

-- Fields of txt. LOOSE holds the number of the last version searched, and the keys that no searched version shows. Without keys
-- it says that all texts were searched once. DROPPED holds the keys of the next search.
local LOOSE, DROPPED = 'loose', 'dropped'

-- The keys are separated by quotes, because no key contains a quote.
local function read_keys(field)
  local searched, list = string.match(redis.call('HGET', txt, field) or '0', '^(%d+)(.*)$')
  local keys = {}
  -- With a corrupt list, the texts of that list are never removed. Nothing else is lost.
  if not searched then return keys, 0 end
  for key in string.gmatch(list, '[^"]+') do keys[key] = true end
  return keys, tonumber(searched)
end

local function keep_keys(field, keys, searched)
  local list = { searched }
  for key in pairs(keys) do list[#list + 1] = key end
  redis.call('HSET', txt, field, table.concat(list, '"'))
end

-- Calls `act` with each key that a version shows. Returns the version's bytes. The JSON is searched as text: a decoded version
-- costs far more.
local function each_shown(number, act)
  local version = redis.call('HGET', ver, number)
  for key in string.gmatch(version, 'Key":"([^"]+)"') do act(key) end
  return #version
end

-- Drops versions. The oldest version that stays shows most texts of the dropped ones, so it is searched at once. The first call
-- treats all texts of the conversation as loose.
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

-- Removes texts that no version shows, or continues the search. The parameter `kept` lists all versions by number, ascending.
local function remove_loose_texts(kept)
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
