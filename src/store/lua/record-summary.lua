-- Stores a summary, a part of one, or the refusal to write one. The job must still have its claim, or its pass must be
-- in progress or must have ended last. So a late job of an erased conversation cannot write into a new conversation
-- with the same id. The first accepted summary and the first text of each part are never replaced.
-- `keptPrefix`: beginning of the stored values that stay. `hash`, `claim`: the source that the job claimed. The usage
-- of the job's model calls follows, in four values, and is added only if the text is stored.
-- Reply: 'recorded' | 'known': another text stays | 'superseded' | 'gone'
-- @args name, text, ttlMs, keptPrefix, hash, claim, passId, ...
-- @include keys
-- @include index
-- @include spending
local key = summaryPrefix .. name
if redis.call('EXISTS', gone) == 1 then return 'gone' end
local open_pass, last_pass = unpack(redis.call('HMGET', c, 'pass', 'lastPass'))
local is_of_pass = open_pass == passId or last_pass == passId
if not is_of_pass and redis.call('GET', summaryPrefix .. hash) ~= claim then return 'superseded' end
local found = redis.call('GET', key)
if found == text then return 'recorded' end
if found and string.sub(found, 1, #keptPrefix) == keptPrefix then return 'known' end
redis.call('SET', key, text, 'PX', ttlMs)
index_key('sum:' .. name)
add_spending({ unpack(ARGV, rest) })
return 'recorded'
