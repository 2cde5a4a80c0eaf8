#!lua flags=allow-oom
-- Gives a pass back when its worker stops. The claim does not count as an attempt (I9), and the pass is due at once.
-- Runs on a full Redis, because a stopping worker cannot try later.
-- Reply: 'released' | 'fenced' | 'superseded' | 'gone'
-- @args passId, owner
-- @include keys
-- @include pass-owner
local loss = find_pass_loss(passId, owner)
if loss == 'fenced' and has_given_back(passId, owner) then return 'released' end
if loss then return loss end
local attempts = tonumber(redis.call('HGET', pass, 'attempts'))
redis.call('HSET', pass, 'attempts', math.max(attempts - 1, 0), 'parkedBy', owner)
redis.call('HDEL', pass, 'owner', 'lease')
schedule(pass_member, now)
return 'released'
