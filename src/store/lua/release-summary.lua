-- Gives a worker's claim on a summary back, so that another worker can write the summary.
-- Reply: 1 | 0 if the owner had no claim
-- @args hash, claim
-- @include key-names
local key = summaryPrefix .. hash
if redis.call('GET', key) ~= claim then return 0 end
redis.call('HDEL', ix, 'sum:' .. hash)
return redis.call('UNLINK', key)
