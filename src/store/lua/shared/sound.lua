-- Requires: key-names. Defines: find_no_number, has_other_type, find_flaw.
-- @include corrupt

-- Redis does not undo the writes of a script that fails halfway. So every record that a script computes with is checked
-- before the first write.
local LARGEST = 9007199254740991
local CONVERSATION = { 'head', 'headTokens', 'headBytes', 'turns', 'epoch', 'lease', 'attempts', 'version', 'answered',
  'forkUntil', 'open', 'liveSize', 'passed', 'backoff', 'ttl', 'quarantine' }
local PASS = { 'attempts', 'lease', 'parkedUntil', 'expiresAt', 'requestedAt', 'proposedAt', 'sweeps', 'refused',
  'calibration' }
-- Patterns of fields that are not one whole number: several numbers as `conversation-record.ts` reads them, a fraction,
-- or a word.
local FORMS = { liveSize = '^%d+ %d+ %d+ %d+ %d+$', passed = '^%d+ %d+$', backoff = '^[%d.]+ %d+ [%d.]+ ?[%d.]*$',
  ttl = '^%d+ %d+$', quarantine = '^%d+ ', refused = '^%d+%.?%d*$', calibration = '^%d+%.?%d*$',
  state = '^%l+$' }

local function is_number(text, form)
  return string.find(text, form or '^%d+$') and (tonumber(text) or 0) <= LARGEST
end

-- Returns the first field of the record that exists and does not match its pattern. If all fields match, returns
-- nil and the values of the fields.
local function find_no_number(key, fields)
  local values = redis.call('HMGET', key, unpack(fields))
  for at, text in ipairs(values) do
    if text and not is_number(text, FORMS[fields[at]]) then return fields[at] end
  end
  return nil, values
end

-- True if the key has the wrong type. The given command fails on such a key.
local function has_other_type(command, key)
  return type(redis.pcall(command, key)) ~= 'number'
end

-- Returns the first key of the wrong type. If there is none, returns nil and the sizes of all keys.
local function find_other_type()
  local shard, sizes = string.match(ready, '^(.*)ready$'), {}
  local checks = { 'HLEN', c, 'HLEN', log, 'LLEN', mb, 'HLEN', ver, 'HLEN', txt, 'HLEN', pass, 'SCARD', ix, 'XLEN', ev,
    'ZCARD', ready, 'ZCARD', shard .. 'idle', 'ZCARD', shard .. 'passes', 'ZCARD', shard .. 'failed' }
  for at = 1, #checks, 2 do
    local size = redis.pcall(checks[at], checks[at + 1])
    if type(size) ~= 'number' then return checks[at + 1] end
    sizes[checks[at + 1]] = size
  end
  return nil, sizes
end

-- Returns the error reply for the first corrupt record of the conversation, or nothing.
local function find_flaw()
  local key, sizes = find_other_type()
  if key then return corrupt(key, '') end
  local head = sizes[mb] > 0 and redis.call('LINDEX', mb, 0)
  if head and has_other_type('HLEN', turn_prefix .. head) then return corrupt(turn_prefix .. head, '') end
  local field, values = find_no_number(c, CONVERSATION)
  if field then return corrupt(c, field) end
  -- Only an erase removes log entries, so `head` must equal their number. With a smaller `head`, the next message would
  -- overwrite an older one.
  local is_wrong = tonumber(values[1] or 0) ~= sizes[log]
  if is_wrong and redis.call('EXISTS', gone) == 0 then return corrupt(c, 'head') end
  field = sizes[pass] > 0 and find_no_number(pass, PASS)
  if field then return corrupt(pass, field) end
end
