-- Tests whether a conversation's turn or pass has lost its worker.
-- ARGV: 'turn' or 'pass'
-- Reply: {'lapsed', recorded wake or ''} | {'quiet'}
-- @include keys
-- @include ready
-- @include lapse
local wake = find_lapsed(ARGV[1])
return wake and { 'lapsed', wake } or { 'quiet' }
