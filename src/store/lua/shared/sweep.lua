-- @include set-members
-- @include quarantine

-- Claims a shard for a sweep. A claim without an expiry, or of the wrong type, would block all later sweeps.
local function claim_shard(claim, claimMs)
  if redis.call('PTTL', claim) == -1 then redis.call('UNLINK', claim) end
  return redis.call('SET', claim, 1, 'NX', 'PX', claimMs)
end

local RESTING_PUSH_MS, MOST_RESTING = 5000, 10

-- Adds due members of `idle` to `due`. Each member is due again soon, in case its erase is interrupted.
local function take_idle(idle, due)
  for _, member in ipairs(redis.call('ZRANGEBYSCORE', idle, '-inf', now, 'LIMIT', 0, MOST_RESTING)) do
    if read_member('idle', member) then
      redis.call('ZADD', idle, string.format('%.0f', now + RESTING_PUSH_MS), member)
      due[#due + 1] = member
    else
      quarantine_member('idle', member, 'the entry names no turn, pass or conversation')
    end
  end
end
