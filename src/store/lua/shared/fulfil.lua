-- Requires: keys, ready, wake. Defines: end_wait. Ends the wait of the first turn of the mailbox, if the turn waits for
-- `kind`. Returns true if the caller has to add `wake` to the queue. With is_fulfilled = false, the turn wakes and must
-- check the context size itself (I13). If the wait has ended before, nothing changes.
local function end_wait(kind, wake, is_fulfilled)
  local turn = redis.call('LINDEX', mb, 0)
  if not turn then return false end
  local wait = redis.call('HMGET', turn_prefix .. turn, 'state', 'waitFor', 'waitFulfilled')
  if wait[1] ~= 'waiting' or wait[2] ~= kind or wait[3] then return false end
  redis.call('HSET', turn_prefix .. turn, 'waitFulfilled', is_fulfilled and 1 or 0)
  wake_turn(wake)
  return true
end
