-- Gives a worker's claim on a summary back, so that another worker can write the summary.
-- ARGV: hash, the owner's claim
-- Reply: 1 | 0 if the owner had no claim
-- @include key-names
local key = summary_prefix .. ARGV[1]
if redis.call('GET', key) ~= ARGV[2] then return 0 end
redis.call('HDEL', ix, 'sum:' .. ARGV[1])
return redis.call('UNLINK', key)
