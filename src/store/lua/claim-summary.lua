-- Claims a text to summarize for one job, unless its summary exists or another job works on it.
-- ARGV: hash, the owner's claim, prefix of every claim, claimMs
-- Reply: {'claimed'} | {'in_flight'} | {'known', record} | {'gone'}
-- @include keys
-- @include index
local key, claim, prefix = summary_prefix .. ARGV[1], ARGV[2], ARGV[3]
if redis.call('EXISTS', gone) == 1 then return { 'gone' } end
local found = redis.call('GET', key)
if found == claim then return { 'claimed' } end
if found and string.sub(found, 1, #prefix) == prefix then return { 'in_flight' } end
if found then return { 'known', found } end
redis.call('SET', key, claim, 'PX', ARGV[4])
index_key('sum:' .. ARGV[1])
return { 'claimed' }
