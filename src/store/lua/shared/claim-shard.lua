-- Whether a shard is the caller's to sweep. A claim of another type or without an end would keep the shard from ever being swept.
local function claim_shard(claim, claimMs)
  if redis.call('PTTL', claim) == -1 then redis.call('UNLINK', claim) end
  return redis.call('SET', claim, 1, 'NX', 'PX', claimMs)
end
