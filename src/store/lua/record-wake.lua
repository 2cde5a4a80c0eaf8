-- Records the wake that the sweeper adds next, unless a worker took over meanwhile. The entry stays where the sweep pushed it.
-- ARGV: 'turn' or 'pass', wake
-- Reply: 1 | 0 if nothing is to be woken
-- @include keys
-- @include ready
-- @include lapse
if not find_lapsed(ARGV[1]) then return 0 end
redis.call('HSET', ARGV[1] == 'turn' and c or pass, 'wake', ARGV[2])
return 1
