-- A wake is a queue job. The first turn of a mailbox gets one when it becomes first, and when its wait ends. The caller
-- adds `wake` to the queue after the script.
-- @include ready
-- @include record

-- Wakes the first turn of the mailbox. If the wake is lost, the sweeper checks the turn (I3).
local function wake_turn(wake)
  put(record, 'wake', wake)
  schedule(turn_member, now + WAKE_GRACE_MS)
end

-- Appends a turn to the mailbox (I1, I3). Returns 1 if the caller has to add `wake`.
local function push_turn(turn, wake)
  if redis.call('RPUSH', mb, turn) == 1 then
    wake_turn(wake)
    return 1
  end
  -- The turns before this turn have a wake. One wake per accepted turn would overload the queue.
  redis.call('ZADD', ready, 'NX', string.format('%.0f', now + WAKE_GRACE_MS), turn_member)
  return 0
end

-- Ends the wait of the first turn, if it waits for `kind`. Returns true if the caller has to add `wake`. With
-- `is_fulfilled` false, the turn must check the context size itself (I13).
local function end_wait(kind, wake, is_fulfilled)
  local turn = redis.call('LINDEX', mb, 0)
  if not turn then return false end
  local wait = redis.call('HMGET', turnPrefix .. turn, 'state', 'waitFor', 'waitFulfilled')
  if wait[1] ~= 'waiting' or wait[2] ~= kind or wait[3] then return false end
  redis.call('HSET', turnPrefix .. turn, 'waitFulfilled', is_fulfilled and 1 or 0)
  wake_turn(wake)
  return true
end
