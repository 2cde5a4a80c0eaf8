-- Stores the system prompt that an agent's function wrote for the running turn. The first prompt that is stored counts
-- for all steps of the turn. The conversation keeps the last prompt, because passes count its tokens.
-- Reply: {'kept', the system prompt of the turn} | {a loss by find_loss}
-- @args turn, owner, epoch, system
-- @include keys
-- @include conversation
read_conversation()
local loss = find_loss(turn, owner, epoch)
if loss then return { loss } end
local kept = redis.call('HGET', txt, 'system') or ''
local kept_turn, kept_system = string.match(kept, '^([^\n]*)\n(.*)$')
if kept_turn == turn then return { 'kept', kept_system } end
redis.call('HSET', txt, 'system', turn .. '\n' .. system)
return { 'kept', system }
