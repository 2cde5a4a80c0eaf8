-- Quarantines the entry of a conversation whose records a worker found corrupt (I12), so that the sweeper skips the
-- entry.
-- KEYS: ready or idle. ARGV: prefix of the shard's keys, name of the set, member, reason
-- Reply: 1 | 0 if the entry is gone
-- @include clock
local shard = ARGV[1]
-- @include quarantine
if not redis.call('ZSCORE', KEYS[1], ARGV[3]) then return 0 end
quarantine_member(ARGV[2], ARGV[3], ARGV[4])
return 1
