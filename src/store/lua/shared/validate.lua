-- Redis keeps the writes of a script that fails halfway. So each script first checks its records, and the types of the
-- keys that it writes.
-- @include record

local LARGEST = 9007199254740991
local RECORD_NUMBERS = { 'head', 'headTokens', 'headBytes', 'turns', 'epoch', 'lease', 'attempts', 'version',
  'answered', 'forkUntil', 'open', 'liveSize', 'passed', 'backoff', 'ttl', 'quarantine', 'packed' }
-- Patterns of fields that are not one whole number. conversation-record.ts reads the same forms.
local FORMS = { liveSize = '^%d+ %d+ %d+ %d+ %d+$', passed = '^%d+ %d+$', backoff = '^[%d.]+ %d+ [%d.]+ ?[%d.]*$',
  ttl = '^%d+ %d+$', quarantine = '^%d+ ', refused = '^%d+%.?%d*$', calibration = '^%d+%.?%d*$',
  state = '^%l+$' }

local function is_number(text, form)
  return string.find(text, form or '^%d+$') and (tonumber(text) or 0) <= LARGEST
end

-- Returns the first field that does not match its pattern. Searching all plain numbers together costs less than
-- searching each.
local function find_bad_number(hash, names)
  local numbers, values = {}, hash.values
  for _, name in ipairs(names) do
    local text = values[name]
    if text == nil then text = value_of(hash, name) end
    if text then
      local is_plain = not FORMS[name] and #text > 0 and #text < 16
      if is_plain then numbers[#numbers + 1] = text elseif not is_number(text, FORMS[name]) then return name end
    end
  end
  if not string.find(table.concat(numbers), '%D') then return nil end
  for _, name in ipairs(names) do
    local text = value_of(hash, name)
    if text and not is_number(text, FORMS[name]) then return name end
  end
end

-- Returns the first key of the wrong type, else nil and the sizes. Arguments: pairs of a command that reads a size, and
-- a key.
local function find_other_type(...)
  local checks, sizes = { ... }, {}
  for at = 1, #checks, 2 do
    local size = redis.pcall(checks[at], checks[at + 1])
    if type(size) ~= 'number' then return checks[at + 1] end
    sizes[checks[at + 1]] = size
  end
  return nil, sizes
end

-- Ends the script if a key has the wrong type. `keys.lua` has checked all keys. Other scripts call this for each key
-- that they write without reading, except for their first write.
local function check_keys(...)
  local key, sizes = find_other_type(...)
  if key then refuse(key, '') end
  return sizes
end

-- Returns the error reply if the conversation is corrupt. Only an erase removes log entries, so `head` must equal their
-- number in log and packs. With a smaller `head`, the next message would overwrite an older one.
local function find_bad_record()
  read_record(RECORD_NUMBERS)
  local field = find_bad_number(record, RECORD_NUMBERS)
  if field then return corrupt(c, field) end
  local entries = redis.pcall('HLEN', log)
  if type(entries) ~= 'number' then return corrupt(log, '') end
  local packed = tonumber(value_of(record, 'packed') or 0)
  if tonumber(value_of(record, 'head') or 0) == entries + packed or redis.call('EXISTS', gone) == 1 then return end
  return corrupt(c, 'head')
end
