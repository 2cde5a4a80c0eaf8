-- Moves a scheduled turn that is due to the end of its mailbox (I1, I2).
-- Reply: 1 if the wake is to be added, else 0
-- @args turn, wake
-- @include keys
-- @include wake
local key, member = turnPrefix .. turn, scheduled_member(turn)
local state, due_at = unpack(redis.call('HMGET', key, 'state', 'dueAt'))
if state ~= 'scheduled' or redis.call('EXISTS', gone) == 1 then
  unschedule(member)
  -- An earlier attempt of this call has already moved the turn.
  return state == 'queued' and redis.call('HGET', c, 'wake') == wake and 1 or 0
end
if number_of(key, 'dueAt', due_at) > now then
  schedule(member, due_at)
  return 0
end
unschedule(member)
redis.call('HSET', key, 'state', 'queued')
redis.call('HDEL', key, 'sweeps')
return push_turn(turn, wake)
