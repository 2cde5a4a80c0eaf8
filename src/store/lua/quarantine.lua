-- Sets the entry of a conversation aside whose records cannot be worked on, as the caller found.
-- KEYS: ready or idle. ARGV: what the shard's keys begin with, name of the set, member, why
-- Reply: 1 | 0 where the entry is not there any more
-- @include clock
local shard = ARGV[1]
-- @include quarantine
if not redis.call('ZSCORE', KEYS[1], ARGV[3]) then return 0 end
quarantine_member(ARGV[2], ARGV[3], ARGV[4])
return 1
