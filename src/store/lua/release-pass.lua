#!lua flags=allow-oom
-- Hands a pass back when its worker stops. The claim counts as no attempt, and the pass is due at once. Also on a full Redis: a worker that stops has no later.
-- ARGV: passId, owner
-- Reply: 'released' | 'fenced' | 'superseded' | 'gone'
-- @include keys
-- @include ready
-- @include pass-fence
local passId, owner = unpack(ARGV)
local loss = find_pass_loss(passId, owner)
if loss == 'fenced' then
  -- Sent again: nobody has claimed since.
  local held = redis.call('HMGET', pass, 'passId', 'owner', 'parkedBy', 'parked')
  if held[1] == passId and not held[2] and held[3] == owner and not held[4] then return 'released' end
end
if loss then return loss end
local attempts = tonumber(redis.call('HGET', pass, 'attempts'))
redis.call('HSET', pass, 'attempts', math.max(attempts - 1, 0), 'parkedBy', owner)
redis.call('HDEL', pass, 'owner', 'lease')
schedule(pass_member, now)
return 'released'
