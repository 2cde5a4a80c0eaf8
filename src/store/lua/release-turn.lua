#!lua flags=allow-oom
-- Hands the head turn back when its worker stops. The claim is no attempt (I9), and the turn is due at once. It runs on a full
-- Redis, because a stopping worker cannot try later.
-- ARGV: turn, owner, epoch, wake that the caller adds next
-- Reply: 'released' | a loss by find_loss
-- @include keys
-- @include conversation
-- @include ready
-- @include wake
-- @include fence
local turn, owner, epoch, wake = unpack(ARGV)
read_conversation()
local loss = find_loss(turn, owner, epoch)
if loss == 'fenced' and not conversation.owner and conversation.epoch == epoch then
  -- Sent again: no owner has claimed since.
  if redis.call('HGET', c, 'wake') == wake then return 'released' end
end
if loss then return loss end
local attempts = tonumber(redis.call('HGET', c, 'attempts'))
redis.call('HSET', c, 'attempts', math.max(attempts - 1, 0))
redis.call('HDEL', c, 'owner', 'lease')
redis.call('HSET', turn_prefix .. turn, 'state', 'queued')
wake_turn(wake)
-- If the wake is lost with the worker, the next sweep finds the turn.
schedule(turn_member, now)
return 'released'
