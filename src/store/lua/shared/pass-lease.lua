-- Requires: keys, ready. Defines: lease_pass, claimed_pass.
-- Leases the pass to an owner, and schedules the pass's entry in `ready` for the end of the lease (I6).
local function lease_pass(owner, leaseMs)
  local lease = now + tonumber(leaseMs)
  redis.call('HSET', pass, 'owner', owner, 'lease', string.format('%.0f', lease))
  schedule(pass_member, lease)
end

local function claimed_pass()
  return { 'claimed', redis.call('HGETALL', pass), redis.call('HGETALL', c) }
end
