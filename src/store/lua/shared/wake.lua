-- Needs: keys, ready. Records the id of the wake that the caller adds next, and when to look should it be lost (I3).
local function wake_turn(wake)
  redis.call('HSET', c, 'wake', wake)
  schedule(turn_member, now + WAKE_GRACE_MS)
end
