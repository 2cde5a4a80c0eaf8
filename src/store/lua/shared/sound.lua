-- Requires: key-names. Defines: find_no_number, has_other_type, find_flaw.
-- @include corrupt

-- Redis does not undo the writes of a script that fails halfway. So every record that a script computes with is checked
-- before the first write.
local LARGEST = 9007199254740991
local COUNTS = { 'head', 'headTokens', 'headBytes', 'turns', 'epoch', 'lease', 'attempts', 'version', 'answered', 'forkUntil',
  'open' }
local PASS_COUNTS = { 'attempts', 'lease', 'parkedUntil', 'expiresAt', 'requestedAt', 'proposedAt', 'sweeps' }
local PASS_SIZES = { 'refused', 'calibration' }
-- Fields of the conversation that contain several numbers, in the text form that `conversation-record.ts` reads.
local LISTS = { 'liveSize', 'passed', 'backoff', 'ttl', 'quarantine' }
local FORMS = { '^%d+ %d+ %d+ %d+ %d+$', '^%d+ %d+$', '^[%d.]+ %d+ [%d.]+ ?[%d.]*$', '^%d+ %d+$', '^%d+ ' }

-- Returns the first field of the record that exists but is not an integer, or does not match `form`. If there is none,
-- returns nil and the values of all fields.
local function find_no_number(key, fields, form)
  local values = redis.call('HMGET', key, unpack(fields))
  for at, text in ipairs(values) do
    if text and not (string.find(text, form or '^%d+$') and tonumber(text) <= LARGEST) then return fields[at] end
  end
  return nil, values
end

local function find_bad_list()
  for at, text in ipairs(redis.call('HMGET', c, unpack(LISTS))) do
    if text and not string.find(text, FORMS[at]) then return LISTS[at] end
  end
end

-- True if the key has the wrong type. The given command fails on such a key.
local function has_other_type(command, key)
  return type(redis.pcall(command, key)) ~= 'number'
end

local function find_other_type()
  local shard = string.match(ready, '^(.*)ready$')
  local idle, passes, failed = shard .. 'idle', shard .. 'passes', shard .. 'failed'
  return has_other_type('HLEN', c) and c or has_other_type('HLEN', log) and log or has_other_type('LLEN', mb) and mb
    or has_other_type('HLEN', ver) and ver or has_other_type('HLEN', txt) and txt or has_other_type('HLEN', pass) and pass
    or has_other_type('SCARD', ix) and ix or has_other_type('XLEN', ev) and ev or has_other_type('ZCARD', ready) and ready
    or has_other_type('ZCARD', idle) and idle or has_other_type('ZCARD', passes) and passes
    or has_other_type('ZCARD', failed) and failed
end

-- Returns the error reply for the first corrupt record of the conversation, or nothing.
local function find_flaw()
  local key = find_other_type()
  if key then return corrupt(key, '') end
  local head = redis.call('LINDEX', mb, 0)
  if head and has_other_type('HLEN', turn_prefix .. head) then return corrupt(turn_prefix .. head, '') end
  local field, values = find_no_number(c, COUNTS)
  if field then return corrupt(c, field) end
  -- Only an erase removes log entries, so `head` must equal their number. With a smaller `head`, the next message would
  -- overwrite an older one.
  local is_wrong = tonumber(values[1] or 0) ~= redis.call('HLEN', log)
  if is_wrong and redis.call('EXISTS', gone) == 0 then return corrupt(c, 'head') end
  field = find_bad_list()
  if field then return corrupt(c, field) end
  field = find_no_number(pass, PASS_COUNTS) or find_no_number(pass, PASS_SIZES, '^%d+%.?%d*$')
  if field then return corrupt(pass, field) end
end
