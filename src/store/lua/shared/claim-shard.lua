-- Requires: nothing. Defines: claim_shard. Claims a shard for one sweep. A claim key that has no expiry or the wrong type
-- would block all later sweeps, so it is removed.
local function claim_shard(claim, claimMs)
  if redis.call('PTTL', claim) == -1 then redis.call('UNLINK', claim) end
  return redis.call('SET', claim, 1, 'NX', 'PX', claimMs)
end
