-- Gives the lease back while children run: until then only their parent job may claim.
-- ARGV: passId, owner, job, until (ms)
-- Reply: 'parked' | 'superseded' | 'gone'
-- @include keys
-- @include ready
-- @include pass-fence
local passId, owner, job, untilMs = unpack(ARGV)
local loss = find_pass_loss(passId, owner)
if loss == 'superseded' then
  -- Sent again: nobody has claimed since.
  local held = redis.call('HMGET', pass, 'passId', 'owner', 'parked', 'parkedUntil')
  if held[1] == passId and not held[2] and held[3] == job and held[4] == untilMs then return 'parked' end
end
if loss then return loss end
redis.call('HDEL', pass, 'owner', 'lease')
redis.call('HSET', pass, 'parked', job, 'parkedUntil', untilMs)
look_again(pass_member, untilMs)
return 'parked'
