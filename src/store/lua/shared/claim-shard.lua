-- Requires: nothing. Defines: claim_shard.
-- Claims a shard for one sweep. A claim without an expiry, or of another type, would end all sweeps, so it is removed.
local function claim_shard(claim, claimMs)
  if redis.call('PTTL', claim) == -1 then redis.call('UNLINK', claim) end
  return redis.call('SET', claim, 1, 'NX', 'PX', claimMs)
end
