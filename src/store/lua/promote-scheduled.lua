-- Moves a scheduled turn that is due to the end of its mailbox (I1, I2).
-- ARGV: turn, wake
-- Reply: 1 if the wake is to be added, else 0
-- @include keys
-- @include ready
-- @include wake
local turn, wake = ARGV[1], ARGV[2]
local key, member = turn_prefix .. turn, scheduled_member(turn)
local found = redis.call('HMGET', key, 'state', 'dueAt')
if found[1] ~= 'scheduled' or redis.call('EXISTS', gone) == 1 then
  unschedule(member)
  -- An earlier attempt of this call has already moved the turn.
  return found[1] == 'queued' and redis.call('HGET', c, 'wake') == wake and 1 or 0
end
if number_of(key, 'dueAt', found[2]) > now then
  schedule(member, found[2])
  return 0
end
unschedule(member)
redis.call('HSET', key, 'state', 'queued')
redis.call('HDEL', key, 'sweeps')
return push_turn(turn, wake)
