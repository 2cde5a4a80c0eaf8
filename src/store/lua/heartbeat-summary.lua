-- Extends a worker's claim on a summary that it is writing.
-- Reply: 1 | 0 if the claim is lost
-- @args hash, claim, claimMs
-- @include key-names
local key = summaryPrefix .. hash
if redis.call('EXISTS', gone) == 1 or redis.call('GET', key) ~= claim then return 0 end
return redis.call('PEXPIRE', key, claimMs)
