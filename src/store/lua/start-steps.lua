-- Records that steps of a turn start. A step that is recorded already stays unchanged (I5).
-- ARGV: turn, owner, epoch, keys of the steps
-- Reply: 'recorded' | a loss by find_loss
-- @include key-names
-- @include validate
-- @include conversation
read_conversation()
local loss = find_loss(ARGV[1], ARGV[2], ARGV[3])
if loss then return loss end
local started = 'started ' .. string.format('%.0f', now)
for at = 4, #ARGV do redis.call('HSETNX', turn_prefix .. ARGV[1], 's:' .. ARGV[at], started) end
return 'recorded'
