#!lua flags=allow-oom
-- Takes conversations whose log entries may be packed now, also on a full Redis, because packing frees memory. Each
-- conversation is due again later, in case its worker dies.
-- KEYS: unpacked. ARGV: most members, ms until they are due again
-- Reply: the members
-- @include clock
local unpacked, taken = KEYS[1], {}
local due = redis.pcall('ZRANGEBYSCORE', unpacked, '-inf', now, 'LIMIT', 0, ARGV[1])
if due.err then return taken end
for _, member in ipairs(due) do
  if string.find(member, '^[%w_.%-]+|[%w_.%-]+$') then
    redis.call('ZADD', unpacked, string.format('%.0f', now + tonumber(ARGV[2])), member)
    taken[#taken + 1] = member
  else
    redis.call('ZREM', unpacked, member)
  end
end
return taken
