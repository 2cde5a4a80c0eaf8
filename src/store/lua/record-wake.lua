-- Records the wake that the sweeper is about to add to the queue, unless a worker has claimed the turn or pass by now. The
-- entry keeps the due time that the sweep gave it.
-- ARGV: 'turn' or 'pass', wake
-- Reply: 1 | 0 if nothing is to be woken
-- @include keys
-- @include ready
-- @include lapse
if not find_lapsed(ARGV[1]) then return 0 end
redis.call('HSET', ARGV[1] == 'turn' and c or pass, 'wake', ARGV[2])
return 1
