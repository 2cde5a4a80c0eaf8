-- Include first: ready. The hash `packs` maps names of seqs to compressed log entries. See packs.ts.
local packs = string.gsub(c, '^({[^}]+}:[^:]+:)c:', '%1pk:')
-- Sorted set of the shard: `tenant|id`, scored by the time at which log entries may be packed. If the set is damaged,
-- conversations continue (I12).
local unpacked = string.gsub(ready, 'ready$', 'unpacked')
local unpacked_member = tenant .. '|' .. id
local PACK_AFTER_MS = 3600000

-- Makes the conversation due for packing at this time. If it is due earlier already, the earlier time stays.
local function schedule_packing(at)
  redis.pcall('ZADD', unpacked, 'LT', string.format('%.0f', at), unpacked_member)
end
