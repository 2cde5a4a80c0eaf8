-- Requires: keys, ready. Defines: wake_turn. Records the wake that the caller adds to the queue next, and schedules a check
-- by the sweeper in case the wake is lost (I3).
local function wake_turn(wake)
  put(record, 'wake', wake)
  schedule(turn_member, now + WAKE_GRACE_MS)
end
