-- The reasons of a pass as they stand now.
-- ARGV: passId, owner
-- Reply: {'held', reasons} | {'superseded'} | {'gone'}
-- @include keys
-- @include pass-fence
local loss = find_pass_loss(ARGV[1], ARGV[2])
if loss then return { loss } end
return { 'held', redis.call('HGET', pass, 'reasons') }
