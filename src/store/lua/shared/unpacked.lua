-- Requires: ready. Defines: unpacked, unpacked_member, PACK_AFTER_MS, schedule_packing.
-- Sorted set unpacked, one per shard: `tenant|id` of conversations by the time at which log entries may be packed. Nothing
-- depends on this set, so damage to it stops no conversation (I12).
local unpacked = string.gsub(ready, 'ready$', 'unpacked')
local unpacked_member = tenant .. '|' .. id
local PACK_AFTER_MS = 3600000

-- An earlier time stays.
local function schedule_packing(at)
  redis.pcall('ZADD', unpacked, 'LT', string.format('%.0f', at), unpacked_member)
end
