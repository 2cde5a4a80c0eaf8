-- Checks whether the turn or compaction pass of a conversation has work but no worker.
-- ARGV: 'turn' or 'pass'
-- Reply: {'lapsed', recorded wake or ''} | {'quiet'}
-- @include keys
-- @include ready
-- @include lapse
local wake = find_lapsed(ARGV[1])
return wake and { 'lapsed', wake } or { 'quiet' }
