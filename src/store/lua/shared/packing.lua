-- The hash `packs` has compressed log entries by the names of their seqs. See packs.ts.
-- @include ready
local packs = string.gsub(c, '^({[^}]+}:[^:]+:)c:', '%1pk:')
-- The sorted set `unpacked` of the shard has conversations by the time at which log entries may be packed. Damage in
-- this set stops no conversation (I12).
local unpacked = string.gsub(ready, 'ready$', 'unpacked')
local unpacked_member = tenant .. '|' .. id
local PACK_AFTER_MS = 3600000

-- Makes the conversation due for packing at this time, unless an earlier time is set.
local function schedule_packing(at)
  redis.pcall('ZADD', unpacked, 'LT', string.format('%.0f', at), unpacked_member)
end
