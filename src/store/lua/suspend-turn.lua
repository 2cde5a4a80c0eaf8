-- Gives the lease back and keeps the head until what it waits for has come, or its deadline.
-- ARGV: turn, owner, epoch, for, step, waitMs, calls as JSON, maxSuspensions, span that ends here or '',
-- pass that was asked for or ''
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

-- The wait may be over before it begins: the pass that was asked for ended since, or all answers came. Then the turn is due at
-- once. A lost race costs one sweep at most. Another pass that is open by now does not know the turn's reasons.
local is_over, is_fulfilled = false, false
if kind == 'compaction' then
  local known = redis.call('HMGET', c, 'pass', 'lp', 'ls')
  is_over = known[1] ~= ARGV[10]
  is_fulfilled = is_over and known[2] == ARGV[10] and known[3] == '1'
elseif kind == 'tools' or kind == 'approval' then
  is_over = true
  for _, call in ipairs(cjson.decode(calls)) do
    is_over = is_over and redis.call('HEXISTS', key, 'a:' .. call) == 1
  end
  is_fulfilled = is_over
end
local untilMs = now + tonumber(waitMs)
redis.call('HSET', key, 'state', 'waiting', 'sus', 1, 'sus:' .. step, count, 'wfor', kind, 'wstep', step,
  'wsince', string.format('%.0f', now), 'wuntil', string.format('%.0f', untilMs), 'wcalls', calls)
redis.call('HDEL', key, 'wful', 'wtrace')
if ARGV[9] ~= '' then redis.call('HSET', key, 'wtrace', ARGV[9]) end
if is_over then redis.call('HSET', key, 'wful', is_fulfilled and 1 or 0) end
redis.call('HDEL', c, 'owner', 'lease', 'attempts')
look_again(turn_member, is_over and now or untilMs)
return 'suspended'
