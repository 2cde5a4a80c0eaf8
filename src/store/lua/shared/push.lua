-- Requires: keys, ready, wake. Defines: push_turn. Appends a turn to the mailbox (I1, I3). Returns 1 if the caller has to
-- add `wake` to the queue.
local function push_turn(turn, wake)
  if redis.call('RPUSH', mb, turn) == 1 then
    wake_turn(wake)
    return 1
  end
  -- The turns before this one already have a wake. One wake per accepted turn would overload the queue.
  redis.call('ZADD', ready, 'NX', string.format('%.0f', now + WAKE_GRACE_MS), turn_member)
  return 0
end
