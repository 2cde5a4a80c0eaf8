-- Quarantines the entry of a conversation whose records a worker found corrupt (I12), so that the sweeper skips the
-- entry.
-- `set`: ready or idle.
-- Reply: 1 | 0 if the entry is gone
-- @keys set
-- @args shard, setName, member, why
-- @include quarantine
if not redis.call('ZSCORE', set, member) then return 0 end
quarantine_member(setName, member, why)
return 1
