#!lua flags=allow-oom
-- Finds idle conversations of a shard that are to be erased. Runs on a full Redis, because an erase frees memory.
-- KEYS: claim of the shard, idle. ARGV: claimMs, prefix of the shard's keys
-- Reply: {members of idle, longest due first; quarantined: set, member, reason}
-- @include clock
local claim, idle = unpack(KEYS)
local shard = ARGV[2]
-- @include set-members
-- @include quarantine
-- @include sweep
if not claim_shard(claim, ARGV[1]) then return { {}, {} } end
local due = {}
free_sets()
take_idle(idle, due)
return { due, set_aside }
