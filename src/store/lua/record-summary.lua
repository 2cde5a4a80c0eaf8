-- Keeps a summary, a refusal, or a part of a summary that is not finished. The first accepted summary stays: versions may
-- name its text. The first part stays, too.
-- ARGV: hash, record, ttlMs, what a record that stays begins with
-- Reply: 'recorded' | 'gone'
-- @include keys
-- @include index
local key, prefix = sumbase .. ARGV[1], ARGV[4]
if redis.call('EXISTS', gone) == 1 then return 'gone' end
local found = redis.call('GET', key)
if found and string.sub(found, 1, #prefix) == prefix then return 'recorded' end
redis.call('SET', key, ARGV[2], 'PX', ARGV[3])
index_key(key)
return 'recorded'
