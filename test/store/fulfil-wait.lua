-- The end of a pass as a waiting turn sees it. ARGV: kind, wake. Reply: 1 where the wake is to be added
-- @include keys
-- @include ready
-- @include wake
-- @include fulfil
return end_wait(ARGV[1], ARGV[2], true) and 1 or 0
