-- Needs: keys, ready. Gives the pass to an owner until the lease lapses, with its ready entry (I6).
local function lease_pass(owner, leaseMs)
  local lease = now + tonumber(leaseMs)
  redis.call('HSET', pass, 'owner', owner, 'lease', string.format('%.0f', lease))
  schedule(pass_member, lease)
end

local function claimed_pass()
  return { 'claimed', redis.call('HGETALL', pass), redis.call('HGETALL', c) }
end
