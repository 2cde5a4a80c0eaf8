#!lua flags=allow-oom
-- What of a sweep is done on a full Redis, too: an erase is what makes room. Writes but a claim and scores.
-- KEYS: claim of the shard, resting. ARGV: claimMs
-- Reply: members of resting, longest due first
-- @include clock
-- @include take-resting
local claim, resting = unpack(KEYS)
if not redis.call('SET', claim, 1, 'NX', 'PX', ARGV[1]) then return {} end
local due = {}
take_resting(resting, due)
return due
