-- Reads the outcome of a person's decision on a compaction proposal.
-- Reply: the outcome | 'pending' | '' if the decision is unknown
-- @args operation
-- @include review
local answer = find_answer(operation, REVIEW)
if answer then return answer end
return redis.call('HGET', pass, 'decision') == operation and 'pending' or ''
