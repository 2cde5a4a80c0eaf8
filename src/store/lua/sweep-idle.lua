#!lua flags=allow-oom
-- Finds idle conversations of a shard that are to be erased. Runs on a full Redis, because an erase frees memory.
-- Reply: {{members of idle, longest due first}, {quarantined: set, member, reason}}
-- @keys claim, idle
-- @args claimMs, shard
-- @include sweep
if not claim_shard(claim, claimMs) then return { {}, {} } end
local due = {}
free_sets()
take_idle(idle, due)
return { due, set_aside }
