-- Requires: ready. packs: hash, names of seqs -> log entries, compressed. See packs.ts.
local packs = string.gsub(c, '^({[^}]+}:[^:]+:)c:', '%1pk:')
-- Sorted set of the shard: `tenant|id` by the time at which log entries may be packed. Damage to it stops no
-- conversation (I12).
local unpacked = string.gsub(ready, 'ready$', 'unpacked')
local unpacked_member = tenant .. '|' .. id
local PACK_AFTER_MS = 3600000

-- An earlier time stays.
local function schedule_packing(at)
  redis.pcall('ZADD', unpacked, 'LT', string.format('%.0f', at), unpacked_member)
end
