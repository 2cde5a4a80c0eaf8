-- Quarantines a corrupt record that workers can create again (I12): a pass in progress, or a summary. The record is
-- kept under another name, so that a person can inspect it. A turn that waits for the pass wakes and requests another
-- pass. If another record is corrupt, too, the script only renames the key.
-- `wake`: for a turn that waits for the pass.
-- Reply: {'kept'} | {'set_aside', note in `quarantined`, 1 if the wake is to be added}
-- @args key, why, wake
-- @include record-error
-- @include pass-end
local shard = string.match(ready, '^(.*)ready$')
-- @include quarantine
if key ~= pass and string.sub(key, 1, #summaryPrefix) ~= summaryPrefix then return { 'kept' } end
if redis.call('EXISTS', key) == 0 or redis.call('EXISTS', gone) == 1 then return { 'kept' } end
local decision = redis.pcall('HGET', pass, 'decision')
local kept_as = move_key(key)
why = why .. ', key renamed to ' .. kept_as
quarantine('key', key, nil, why)
if find_record_error() then return { 'set_aside', why, 0 } end
local kind, rest = string.match(kept_as, '^{[^}]+}:[^:]+:(%l+:)[^:]+:(.+)$')
index_key(kind .. rest)
if key ~= pass then return { 'set_aside', why, 0 } end
-- Ending the pass also answers the person who decided on its proposal.
if type(decision) == 'string' then redis.call('HSET', pass, 'decision', decision) end
return { 'set_aside', why, end_pass(redis.call('HGET', c, 'pass') or '', 'failed', wake) }
