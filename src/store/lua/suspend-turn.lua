-- Gives the lease back and keeps the head until what it waits for has come, or its deadline.
-- ARGV: turn, owner, epoch, for, step, waitMs, calls as JSON, maxSuspensions, span that ends here or ''
-- Reply: 'suspended' | 'exhausted' | what find_loss answers
-- @include keys
-- @include conversation
-- @include ready
-- @include fence
local turn, owner, epoch, kind, step, waitMs, calls = unpack(ARGV, 1, 7)
local key = tbase .. turn
read_conversation()
local loss = find_loss(turn, owner, epoch)
if loss == 'fenced' then
  -- Sent again: this epoch's only owner has left, the wait stands.
  local wait = redis.call('HMGET', key, 'state', 'wstep')
  local has_left = not conversation.owner and conversation.epoch == epoch
  if has_left and wait[1] == 'waiting' and wait[2] == step then return 'suspended' end
end
if loss then return loss end
local count = tonumber(redis.call('HGET', key, 'sus:' .. step) or 0) + 1
if count > tonumber(ARGV[8]) then return 'exhausted' end

-- What it would wait for may be here: a pass that ended between request and suspend, answers that came earlier. Then it is
-- due at once; a lost race costs one sweep at most.
local is_fulfilled = kind == 'compaction' and (redis.call('HGET', c, 'pass') or '') == ''
if kind == 'tools' or kind == 'approval' then
  is_fulfilled = true
  for _, call in ipairs(cjson.decode(calls)) do
    is_fulfilled = is_fulfilled and redis.call('HEXISTS', key, 'a:' .. call) == 1
  end
end
local untilMs = now + tonumber(waitMs)
redis.call('HSET', key, 'state', 'waiting', 'sus', 1, 'sus:' .. step, count, 'wfor', kind, 'wstep', step,
  'wsince', string.format('%.0f', now), 'wuntil', string.format('%.0f', untilMs), 'wcalls', calls)
redis.call('HDEL', key, 'wful', 'wtrace')
if ARGV[9] ~= '' then redis.call('HSET', key, 'wtrace', ARGV[9]) end
if is_fulfilled then redis.call('HSET', key, 'wful', 1) end
redis.call('HDEL', c, 'owner', 'lease', 'attempts')
look_again(turn_member, is_fulfilled and now or untilMs)
return 'suspended'
