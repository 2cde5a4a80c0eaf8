-- Needs: keys, ready, wake. Puts a turn at the tail of the mailbox (I1, I3). Answers 1 where `wake` is to be added.
local function push_turn(turn, wake)
  if redis.call('RPUSH', mb, turn) == 1 then
    wake_turn(wake)
    return 1
  end
  -- The turns before it have their own wake; one more for each accept was a storm.
  redis.call('ZADD', ready, 'NX', string.format('%.0f', now + WAKE_GRACE_MS), turn_member)
  return 0
end
