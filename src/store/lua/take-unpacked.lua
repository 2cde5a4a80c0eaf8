#!lua flags=allow-oom
-- Takes conversations whose log entries may be packed now, also on a full Redis, because packing frees memory. Each
-- conversation is due again later, in case its worker dies.
-- `retryMs`: ms until a conversation is due again.
-- Reply: the members
-- @keys unpacked
-- @args limit, retryMs
-- @include clock
local taken = {}
local due = redis.pcall('ZRANGEBYSCORE', unpacked, '-inf', now, 'LIMIT', 0, limit)
if due.err then return taken end
for _, member in ipairs(due) do
  if string.find(member, '^[%w_.%-]+|[%w_.%-]+$') then
    redis.call('ZADD', unpacked, string.format('%.0f', now + tonumber(retryMs)), member)
    taken[#taken + 1] = member
  else
    redis.call('ZREM', unpacked, member)
  end
end
return taken
