-- Claims a text to summarize for one job, unless its summary exists or another job works on it.
-- `claim`: the text that stands for the summary until it is written. `claimPrefix`: the beginning of the claims of all
-- owners.
-- Reply: {'claimed'} | {'in_flight'} | {'known', record} | {'gone'}
-- @args hash, claim, claimPrefix, claimMs
-- @include keys
-- @include index
local key = summaryPrefix .. hash
if redis.call('EXISTS', gone) == 1 then return { 'gone' } end
local found = redis.call('GET', key)
if found == claim then return { 'claimed' } end
if found and string.sub(found, 1, #claimPrefix) == claimPrefix then return { 'in_flight' } end
if found then return { 'known', found } end
redis.call('SET', key, claim, 'PX', claimMs)
index_key('sum:' .. hash)
return { 'claimed' }
