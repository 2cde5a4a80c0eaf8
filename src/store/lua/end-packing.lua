#!lua flags=allow-oom
-- Ends the packing of a log. If log or version have changed meanwhile, the conversation only stays due for packing. If
-- nothing is left to pack, the script replaces a small log and a short event stream by copies. The copies lack the
-- memory that Redis had reserved for growth.
-- `head`, `version`: last seq of the log and live version that the caller knows. `againMs`: ms until the conversation
-- is due again, '' if nothing is left to pack.
-- Reply: 1
-- @args head, version, againMs
-- @include packing
local MOST_ENTRIES, MOST_BYTES, MOST_EVENTS = 8, 65536, 500

-- Replaces a key by a copy of itself. If the Redis user may not copy, the key stays.
local function shrink(key)
  if redis.pcall('COPY', key, key .. ':copy', 'REPLACE') == 1 then redis.call('RENAME', key .. ':copy', key) end
end

local function is_small_log()
  local size, bytes = redis.pcall('HLEN', log), 0
  if type(size) ~= 'number' or size > MOST_ENTRIES then return false end
  for _, seq in ipairs(redis.call('HKEYS', log)) do bytes = bytes + redis.call('HSTRLEN', log, seq) end
  return bytes <= MOST_BYTES
end

local present_head, live = unpack(redis.call('HMGET', c, 'head', 'version'))
if present_head and (present_head ~= head or (live or '0') ~= version) then return 1 end
redis.pcall('ZREM', unpacked, unpacked_member)
if not present_head then return 1 end
if againMs ~= '' then
  schedule_packing(now + tonumber(againMs))
  return 1
end
if is_small_log() then shrink(log) end
local events = redis.pcall('XLEN', ev)
if type(events) == 'number' and events <= MOST_EVENTS then shrink(ev) end
return 1
