-- Extends a worker's claim on a summary that it is writing.
-- ARGV: hash, the owner's claim, claimMs
-- Reply: 1 | 0 if the claim is lost
-- @include key-names
local key = summary_prefix .. ARGV[1]
if redis.call('EXISTS', gone) == 1 or redis.call('GET', key) ~= ARGV[2] then return 0 end
return redis.call('PEXPIRE', key, ARGV[3])
