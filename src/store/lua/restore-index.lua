#!lua flags=allow-oom
-- Adds the found names of all keys of a conversation to its index. Names that the index already has stay, because other
-- calls may have added them since the search. An index of the wrong type, and names of another form, are removed. Runs
-- on a full Redis, because an erase needs the index.
-- The names follow, as in shared/index-names.lua.
-- Reply: number of names in the index
-- @args ...
-- @include index-names
local known = redis.pcall('HKEYS', ix)
if known.err then redis.call('UNLINK', ix) end
for _, name in ipairs(known) do
  if not key_of(name) then redis.call('HDEL', ix, name) end
end
for _, name in ipairs(ARGV) do redis.call('HSET', ix, name, '') end
return redis.call('HLEN', ix)
