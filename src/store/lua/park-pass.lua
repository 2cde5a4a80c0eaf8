-- Gives the lease of a compaction pass back while its child jobs run. During parkMs only the parent job of these child
-- jobs may claim the pass.
-- Reply: 'parked' | 'fenced' | 'superseded' | 'gone'
-- @args passId, owner, job, parkMs
-- @include keys
-- @include pass-owner
local loss = find_pass_loss(passId, owner)
if loss == 'fenced' and has_given_back(passId, owner, job) then return 'parked' end
if loss then return loss end
redis.call('HDEL', pass, 'owner', 'lease')
local untilMs = now + tonumber(parkMs)
redis.call('HSET', pass, 'parked', job, 'parkedBy', owner, 'parkedUntil', string.format('%.0f', untilMs))
schedule(pass_member, untilMs)
return 'parked'
