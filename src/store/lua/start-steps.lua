-- Records that steps of a turn start. A step that is recorded already stays unchanged (I5).
-- The keys of the steps follow.
-- Reply: 'recorded' | a loss by find_loss
-- @args turn, owner, epoch, ...
-- @include conversation
read_conversation()
local loss = find_loss(turn, owner, epoch)
if loss then return loss end
local started = 'started ' .. string.format('%.0f', now)
for at = rest, #ARGV do redis.call('HSETNX', turnPrefix .. turn, 's:' .. ARGV[at], started) end
return 'recorded'
