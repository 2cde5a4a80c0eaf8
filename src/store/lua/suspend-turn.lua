-- Gives the lease back. The turn stays the head until its wait is fulfilled, or until the deadline.
-- ARGV: turn, owner, epoch, kind, step, waitMs, maxSuspensions, span that ends here or '', requested pass or '', calls as the
-- turn keeps them (JSON), calls for the event (JSON); then per call its id and the ms to its deadline
-- Reply: 'suspended' | 'exhausted' | a loss by find_loss
-- @include keys
-- @include conversation
-- @include ready
-- @include fence
-- @include events
-- @include awaited
-- @include waiting
local turn, owner, epoch, kind, step, waitMs, most, span, passId = unpack(ARGV, 1, 9)
local asks, event_calls, FIRST_CALL = ARGV[10], ARGV[11], 12
local key = tbase .. turn
read_conversation()
local loss = find_loss(turn, owner, epoch)
if loss == 'fenced' then
  -- Sent again: this epoch's only owner has left, and its wait exists.
  local wait = redis.call('HMGET', key, 'state', 'wstep')
  local has_left = not conversation.owner and conversation.epoch == epoch
  if has_left and wait[1] == 'waiting' and wait[2] == step then return 'suspended' end
end
if loss then return loss end
local before = redis.call('HMGET', key, 'wfor', 'wcalls')
check_calls(key, before[2] or '')
local count = tonumber(redis.call('HGET', key, 'sus:' .. step) or 0) + 1
if not ANSWERED[kind] and count > tonumber(most) then return 'exhausted' end

-- The wait may be over before it begins: the requested pass has ended, or all answers have arrived. Then the turn is due at
-- once. A lost race costs one sweep at most. Another open pass does not know the turn's reasons.
local is_over, is_fulfilled = false, false
if kind == 'compaction' then
  local known = redis.call('HMGET', c, 'pass', 'lp', 'ls')
  is_over = known[1] ~= passId
  is_fulfilled = is_over and known[2] == passId and known[3] == '1'
elseif ANSWERED[kind] then
  is_over = true
  for at = FIRST_CALL, #ARGV, 2 do
    is_over = is_over and redis.call('HEXISTS', key, 'a:' .. ARGV[at]) == 1
  end
  is_fulfilled = is_over
end
-- A call from an earlier wait keeps its deadline, even if another call's deadline has passed.
local earlier, kept = read_awaited(before[2])
if before[1] ~= kind then kept = {} end
local untilMs, lines, deadlines = now + tonumber(waitMs), {}, {}
for at = FIRST_CALL, #ARGV, 2 do
  local deadline = kept[ARGV[at]] or now + tonumber(ARGV[at + 1])
  untilMs = math.min(untilMs, deadline)
  deadlines[#deadlines + 1] = string.format('%.0f', deadline)
  lines[#lines + 1] = ARGV[at] .. ' ' .. deadlines[#deadlines]
end
local untilText = string.format('%.0f', untilMs)
redis.call('HSET', key, 'state', 'waiting', 'sus', 1, 'wfor', kind, 'wstep', step, 'wsince', string.format('%.0f', now),
  'wuntil', untilText, 'wcalls', table.concat(lines, '\n'), 'wasks', asks, 'wsteps', count_steps(key), 'wleft',
  keep_open_calls(key, earlier, FIRST_CALL))
if not ANSWERED[kind] then redis.call('HSET', key, 'sus:' .. step, count) end
redis.call('HDEL', key, 'wful', 'wtrace', 'taken')
if span ~= '' then redis.call('HSET', key, 'wtrace', span) end
redis.call('HDEL', c, 'owner', 'lease', 'attempts')
schedule(turn_member, is_over and now or untilMs)
if is_over then
  redis.call('HSET', key, 'wful', is_fulfilled and 1 or 0)
else
  list_waiting(kind, turn)
  emit('turn_waiting', { 'turn', turn, 'for', kind, 'until', untilText, 'calls', event_calls,
    'deadlines', table.concat(deadlines, ',') })
end
return 'suspended'
