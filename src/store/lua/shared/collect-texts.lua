-- Removes the text of a summary once no kept version shows it. 200 versions with 600 summaries are 30 MB, and a search
-- of all versions at once blocked Redis for a third of a second. So each commit searches about SEARCH_BYTES of the kept
-- versions, oldest first. It searches at least two versions, because it adds one. A version that shows a text again has
-- a higher number, so the search still meets it.
-- @include key-names
local SEARCH_BYTES = 1000000

-- Fields of the hash `txt`. LOOSE: number of the version that was searched last, and the texts that no searched version
-- shows. DROPPED: texts for the next search.
local LOOSE, DROPPED = 'loose', 'dropped'

-- Returns the names of texts in a field, and the number in front of them. No name contains a quotation mark, so
-- quotation marks separate them.
local function read_keys(field)
  local searched, list = string.match(redis.call('HGET', txt, field) or '0', '^(%d+)(.*)$')
  local keys = {}
  -- The list of texts is corrupt, so its texts are never removed. This wastes memory, but loses nothing.
  if not searched then return keys, 0 end
  for key in string.gmatch(list, '[^"]+') do keys[key] = true end
  return keys, tonumber(searched)
end

local function keep_keys(field, keys, searched)
  local list = { searched }
  for key in pairs(keys) do list[#list + 1] = key end
  redis.call('HSET', txt, field, table.concat(list, '"'))
end

-- Calls `act` with each text that a version shows, and returns the version's bytes. Decoding a version would cost far
-- more than searching its JSON.
local function each_shown(number, act)
  local version = redis.call('HGET', ver, number)
  for key in string.gmatch(version, 'Key":"([^"]+)"') do act(key) end
  return #version
end

-- Drops versions. The oldest version that stays shows most texts of the dropped ones, so this version is searched at
-- once. The first call of a conversation searches all texts.
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

-- Searches versions for texts that no version shows any more. `kept`: the numbers of all versions, ascending.
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
