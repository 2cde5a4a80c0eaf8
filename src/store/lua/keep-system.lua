-- Stores the system prompt that an agent's function wrote for the running turn. The first prompt that is stored counts
-- for all steps of the turn. The conversation keeps the last prompt, because passes count its tokens.
-- ARGV: turn, owner, epoch, system prompt
-- Reply: {'kept', the system prompt of the turn} | {a loss by find_loss}
-- @include keys
-- @include conversation
local turn, owner, epoch, system = unpack(ARGV)
read_conversation()
local loss = find_loss(turn, owner, epoch)
if loss then return { loss } end
local kept = redis.call('HGET', txt, 'system') or ''
local of, at = string.match(kept, '^([^\n]*)\n()')
if of == turn then return { 'kept', string.sub(kept, at) } end
redis.call('HSET', txt, 'system', turn .. '\n' .. system)
return { 'kept', system }
