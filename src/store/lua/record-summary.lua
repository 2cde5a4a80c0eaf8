-- Stores a summary, a part of one, or the refusal to write one. The job must still have its claim, or its pass must be
-- in progress or must have ended last. So a late job of an erased conversation cannot write into a new conversation
-- with the same id. The first accepted summary and the first text of each part are never replaced.
-- ARGV: name, record, ttlMs, prefix of a record that stays, hash that the job claimed, its claim, its passId, and for a
-- whole summary the usage of its model calls
-- Reply: 'recorded' | 'superseded' | 'gone'
-- @include keys
-- @include index
-- @include spending
local key, prefix, passId = summary_prefix .. ARGV[1], ARGV[4], ARGV[7]
if redis.call('EXISTS', gone) == 1 then return 'gone' end
local passes = redis.call('HMGET', c, 'pass', 'lastPass')
local is_of_pass = passes[1] == passId or passes[2] == passId
if not is_of_pass and redis.call('GET', summary_prefix .. ARGV[5]) ~= ARGV[6] then return 'superseded' end
local found = redis.call('GET', key)
if found and (found == ARGV[2] or string.sub(found, 1, #prefix) == prefix) then return 'recorded' end
redis.call('SET', key, ARGV[2], 'PX', ARGV[3])
index_key('sum:' .. ARGV[1])
if ARGV[8] then add_spending({ unpack(ARGV, 8, 11) }) end
return 'recorded'
