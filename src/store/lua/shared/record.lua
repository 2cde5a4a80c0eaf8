-- A table that stands for a hash of Redis: `key`, `values`, `staged`, and `is_whole` if all fields were read. No field
-- is read twice. `put` and `drop` change both Redis and the table.
-- @include key-names
-- @include corrupt
local SHORT_HASH = 48

-- The hash of the conversation.
local record = { key = c, values = {} }

local function read_fields(hash, names)
  local list = redis.pcall('HMGET', hash.key, unpack(names))
  if list.err then refuse(hash.key, '') end
  for at, name in ipairs(names) do hash.values[name] = list[at] end
end

local function read_all(hash)
  local list = redis.pcall('HGETALL', hash.key)
  if list.err then refuse(hash.key, '') end
  for at = 1, #list, 2 do hash.values[list[at]] = list[at + 1] end
  hash.is_whole = true
end

-- Reads all fields of the conversation, or only `names` if it has many fields. So a step costs the same with 1,000 open
-- calls.
local function read_record(names)
  local size = redis.pcall('HLEN', c)
  if type(size) ~= 'number' then refuse(c, '') end
  record.is_whole = size <= SHORT_HASH
  if record.is_whole then read_all(record) else read_fields(record, names) end
end

-- Returns the value of a field, or false if the hash has no such field.
local function value_of(hash, name)
  local value = hash.values[name]
  if value == nil then
    value = not hash.is_whole and redis.call('HGET', hash.key, name)
    hash.values[name] = value
  end
  return value
end

-- Stages fields, given as names and values. The next `put` to this hash writes them.
local function stage(hash, ...)
  local list, values, staged = { ... }, hash.values, hash.staged or {}
  for at = 1, #list, 2 do values[list[at]] = list[at + 1] .. '' end
  local size = #staged
  for at, item in ipairs(list) do staged[size + at] = item end
  hash.staged = staged
end

-- Writes these fields and the staged fields in one HSET. Returns how many of them are new.
local function put(hash, ...)
  stage(hash, ...)
  local staged = hash.staged
  hash.staged = nil
  return redis.call('HSET', hash.key, unpack(staged))
end

-- Removes fields. Returns how many of them existed.
local function drop(hash, ...)
  local names = {}
  for _, name in ipairs({ ... }) do
    if not hash.is_whole or hash.values[name] then names[#names + 1] = name end
    hash.values[name] = false
  end
  return #names > 0 and redis.call('HDEL', hash.key, unpack(names)) or 0
end

local function fields_of(hash)
  if not hash.is_whole then return redis.call('HGETALL', hash.key) end
  local list = {}
  for name, value in pairs(hash.values) do
    if value then
      list[#list + 1] = name
      list[#list + 1] = value
    end
  end
  return list
end
