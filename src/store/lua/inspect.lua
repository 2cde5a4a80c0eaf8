-- Checks whether the turn or compaction pass of a conversation has work but no worker.
-- `kind`: 'turn' or 'pass'.
-- Reply: {'lapsed', recorded wake or '', 1 if a worker has lost its lease, else 0} | {'quiet'}
-- @args kind
-- @include keys
-- @include lapse
local wake, had_worker = find_lapsed(kind)
return wake and { 'lapsed', wake, had_worker } or { 'quiet' }
