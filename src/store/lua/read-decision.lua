-- Reads the outcome of a person's decision on a compaction proposal.
-- ARGV: operation
-- Reply: the outcome | 'pending' | '' if the decision is unknown
-- @include key-names
-- @include ready
-- @include index
-- @include review
local answer = find_answer(ARGV[1], REVIEW)
if answer then return answer end
return redis.call('HGET', pass, 'decision') == ARGV[1] and 'pending' or ''
