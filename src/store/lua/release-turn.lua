#!lua flags=allow-oom
-- Gives the running turn back when its worker stops, or cannot run it now. The claim does not count as an attempt (I9).
-- Runs on a full Redis, because a stopping worker cannot try later.
-- `delayMs`: ms until the turn is due.
-- Reply: 'released' | a loss by find_loss
-- @args turn, owner, epoch, wake, delayMs
-- @include keys
-- @include conversation
-- @include wake
read_conversation()
local loss = find_loss(turn, owner, epoch)
if loss == 'fenced' and not conversation.owner and conversation.epoch == epoch then
  -- A repeated call succeeds while no other worker has claimed the turn.
  if redis.call('HGET', c, 'wake') == wake then return 'released' end
end
if loss then return loss end
local attempts = tonumber(redis.call('HGET', c, 'attempts'))
put(record, 'attempts', math.max(attempts - 1, 0))
drop(record, 'owner', 'lease')
local due_at = string.format('%.0f', now + tonumber(delayMs))
redis.call('HSET', turnPrefix .. turn, 'state', 'queued', unpack(tonumber(delayMs) > 0 and { 'putOff', due_at } or {}))
wake_turn(wake)
-- If the worker dies before it adds the wake, or adds no wake, a sweep finds the turn.
schedule(turn_member, due_at)
return 'released'
