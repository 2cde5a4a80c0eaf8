-- Keeps a plan, so that later claims go on from it. Attempts count from the one that made the first plan; a plan in its
-- place brings none back, else a version that changes again and again would have the pass summarize for ever.
-- ARGV: passId, owner, plan (JSON)
-- Reply: 'recorded' | 'fenced' | 'superseded' | 'gone'
-- @include keys
-- @include pass-fence
local loss = find_pass_loss(ARGV[1], ARGV[2])
if loss then return loss end
local is_first = redis.call('HSET', pass, 'plan', ARGV[3]) == 1
if is_first then redis.call('HSET', pass, 'attempts', 1) end
return 'recorded'
