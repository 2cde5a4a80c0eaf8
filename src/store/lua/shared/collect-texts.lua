-- Requires: keys. Defines: drop_versions, collect_texts. Removes the text of a summary once no kept context
-- version shows it. After old versions were dropped, each commit searches some of the kept versions, oldest first, for
-- the texts of the dropped ones. One commit searches up to SEARCH_BYTES, but at least two versions, because each commit
-- adds one. The 200 versions of a conversation with 600 summaries are 30 MB, and one search of all blocked Redis for a
-- third of a second. A version that shows a text again has a higher number, so the search, in ascending order, still
-- meets that version.
local SEARCH_BYTES = 1000000

-- Fields of the hash txt. LOOSE stores the number of the last searched version and the keys that no searched version
-- shows. If it has no keys, all texts were searched once. DROPPED stores the keys for the next search.
local LOOSE, DROPPED = 'loose', 'dropped'

-- The field separates keys by quotation marks, because no key contains one.
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

-- Calls `act` with each key that a version shows. Returns the version's bytes. The JSON is searched as text: a decoded
-- version costs far more.
local function each_shown(number, act)
  local version = redis.call('HGET', ver, number)
  for key in string.gmatch(version, 'Key":"([^"]+)"') do act(key) end
  return #version
end

-- Drops context versions. The oldest version that stays shows most texts of the dropped ones, so it is searched at
-- once. At its first call, the function searches all texts of the conversation.
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

-- Continues the search of the kept versions. Once the search is complete, removes the texts that no version shows. The
-- parameter `kept` lists the numbers of all versions, ascending.
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
