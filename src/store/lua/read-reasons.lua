-- The reasons of a pass as they stand now.
-- ARGV: passId, owner
-- Reply: {'held', reasons, upper bound of the size that a provider refused or ''} | {'superseded'} | {'gone'}
-- @include keys
-- @include pass-fence
local loss = find_pass_loss(ARGV[1], ARGV[2])
if loss then return { loss } end
local reasons, refused = unpack(redis.call('HMGET', pass, 'reasons', 'refused'))
return { 'held', reasons, refused or '' }
