-- Gives the lease back while children run. During parkMs only their parent job may claim the pass.
-- ARGV: passId, owner, job, parkMs
-- Reply: 'parked' | 'fenced' | 'superseded' | 'gone'
-- @include keys
-- @include ready
-- @include pass-fence
local passId, owner, job, parkMs = unpack(ARGV)
local loss = find_pass_loss(passId, owner)
if loss == 'fenced' then
  -- Sent again: no owner has claimed since. The owner differs from that of a later delivery of the same job.
  local held = redis.call('HMGET', pass, 'passId', 'owner', 'parked', 'parkedBy')
  if held[1] == passId and not held[2] and held[3] == job and held[4] == owner then return 'parked' end
end
if loss then return loss end
redis.call('HDEL', pass, 'owner', 'lease')
local untilMs = now + tonumber(parkMs)
redis.call('HSET', pass, 'parked', job, 'parkedBy', owner, 'parkedUntil', string.format('%.0f', untilMs))
schedule(pass_member, untilMs)
return 'parked'
