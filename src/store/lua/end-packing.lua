#!lua flags=allow-oom
-- Ends the packing of a conversation's log. If the log has grown since the caller read it, the conversation only stays due
-- later. Redis reserves memory for the next events, which the stream of an idle conversation gives back by a copy.
-- ARGV: last seq of the log that the caller knows, ms until the conversation is due again or '' if nothing is left to pack
-- Reply: 1
-- @include key-names
-- @include ready
-- @include unpacked
local head = redis.call('HGET', c, 'head')
if head and head ~= ARGV[1] then return 1 end
redis.pcall('ZREM', unpacked, unpacked_member)
if not head then return 1 end
if ARGV[2] ~= '' then
  schedule_packing(now + tonumber(ARGV[2]))
elseif redis.pcall('COPY', ev, ev .. ':copy', 'REPLACE') == 1 then
  redis.call('RENAME', ev .. ':copy', ev)
end
return 1
