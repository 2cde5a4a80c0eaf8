-- Requires: ready. Defines: packs, unpacked, unpacked_member, PACK_AFTER_MS, schedule_packing.
-- Hash packs: names of seqs -> log entries, compressed. See packs.ts.
local packs = string.gsub(c, '^({[^}]+}:[^:]+:)c:', '%1pk:')
-- Sorted set unpacked, one per shard: `tenant|id` of conversations by the time at which log entries may be packed. Nothing
-- depends on this set, so damage to it stops no conversation (I12).
local unpacked = string.gsub(ready, 'ready$', 'unpacked')
local unpacked_member = tenant .. '|' .. id
local PACK_AFTER_MS = 3600000

-- An earlier time stays.
local function schedule_packing(at)
  redis.pcall('ZADD', unpacked, 'LT', string.format('%.0f', at), unpacked_member)
end
