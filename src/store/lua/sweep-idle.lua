#!lua flags=allow-oom
-- What of a sweep is done on a full Redis, too: an erase is what makes room. Writes but a claim and scores.
-- KEYS: claim of the shard, idle. ARGV: claimMs, what the shard's keys begin with
-- Reply: {members of idle, longest due first; what was set aside: set, member, why}
-- @include clock
-- @include claim-shard
local claim, idle = unpack(KEYS)
local shard = ARGV[2]
-- @include members
-- @include quarantine
-- @include take-idle
if not claim_shard(claim, ARGV[1]) then return { {}, {} } end
local due = {}
free_sets()
take_idle(idle, due)
return { due, set_aside }
