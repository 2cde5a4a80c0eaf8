-- Reads the reasons to compact that a pass has now.
-- Reply: {'current', reasons, upper bound of the size that a provider refused or '', calibration of the requests or ''}
-- | {'fenced'} | {'superseded'} | {'gone'}
-- @args passId, owner
-- @include pass-owner
local loss = find_pass_loss(passId, owner)
if loss then return { loss } end
local reasons, refused, calibration = unpack(redis.call('HMGET', pass, 'reasons', 'refused', 'calibration'))
return { 'current', reasons, refused or '', calibration or '' }
