-- Requires: keys, ready, open-passes. Defines: create_pass. Creates a compaction pass with its entry in `ready` (I6), in a
-- conversation without an open pass. Further arguments are names and values of other fields.
local function create_pass(passId, wake, ...)
  redis.call('HSET', pass, 'passId', passId, 'wake', wake, 'attempts', 0, 'requestedAt', string.format('%.0f', now), ...)
  put(record, 'pass', passId)
  add_open_pass()
  schedule(pass_member, now + WAKE_GRACE_MS)
end
