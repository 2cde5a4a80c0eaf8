#!lua flags=allow-oom
-- Ends the packing of a conversation's log. If the log has grown since the caller read it, the conversation only stays due
-- later. When nothing is left to pack, the keys give back memory: a table that has shrunk, and what Redis reserved for the
-- next events.
-- ARGV: last seq of the log that the caller knows, ms until the conversation is due again or '' if nothing is left to pack
-- Reply: 1
-- @include key-names
-- @include ready
-- @include unpacked
local MOST_COPIED = 500

-- A copy has the same content and expiry, in as little memory as it needs.
local function shrink(key, size)
  if type(size) ~= 'number' or size > MOST_COPIED then return end
  if redis.call('COPY', key, key .. ':copy', 'REPLACE') == 1 then redis.call('RENAME', key .. ':copy', key) end
end

local head = redis.call('HGET', c, 'head')
if head and head ~= ARGV[1] then return 1 end
redis.pcall('ZREM', unpacked, unpacked_member)
if not head then return 1 end
if ARGV[2] ~= '' then
  schedule_packing(now + tonumber(ARGV[2]))
else
  shrink(log, redis.pcall('HLEN', log))
  shrink(ev, redis.pcall('XLEN', ev))
end
return 1
