-- Keeps a plan, so that later claims go on from it. Attempts count from here.
-- ARGV: passId, owner, plan (JSON)
-- Reply: 'recorded' | 'superseded' | 'gone'
-- @include keys
-- @include pass-fence
local loss = find_pass_loss(ARGV[1], ARGV[2])
if loss then return loss end
redis.call('HSET', pass, 'plan', ARGV[3], 'attempts', 0)
return 'recorded'
