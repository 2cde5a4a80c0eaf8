-- Checks whether the turn or compaction pass of a conversation has work but no worker.
-- ARGV: 'turn' or 'pass'
-- Reply: {'lapsed', recorded wake or '', 1 if a worker has lost its lease, else 0} | {'quiet'}
-- @include keys
-- @include ready
-- @include lapse
local wake, had_worker = find_lapsed(ARGV[1])
return wake and { 'lapsed', wake, had_worker } or { 'quiet' }
