-- Records the wake that the sweeper is about to add to the queue, unless a worker has claimed the turn or pass by now.
-- The entry in `ready` keeps the due time that the sweep gave it.
-- `kind`: 'turn' or 'pass'.
-- Reply: 1 | 0 if nothing is to be woken
-- @args kind, wake
-- @include keys
-- @include lapse
if not find_lapsed(kind) then return 0 end
redis.call('HSET', kind == 'turn' and c or pass, 'wake', wake)
return 1
