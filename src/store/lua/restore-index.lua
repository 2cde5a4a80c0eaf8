#!lua flags=allow-oom
-- Writes the names of all keys of a conversation into its index, after a search found these keys. Names that the index has
-- stay, because other calls may have added them since the search. An index of the wrong type, and names of another form, are
-- removed: the search found their keys. The script runs on a full Redis, because an erase needs it.
-- ARGV: names as in index-names
-- Reply: number of names in the index
-- @include key-names
-- @include index-names
local known = redis.pcall('HKEYS', ix)
if known.err then redis.call('UNLINK', ix) end
for _, name in ipairs(known) do
  if not key_of(name) then redis.call('HDEL', ix, name) end
end
for _, name in ipairs(ARGV) do redis.call('HSET', ix, name, '') end
return redis.call('HLEN', ix)
