-- Suspends a turn and gives its lease back. The turn stays first in the mailbox, and continues once its wait is
-- fulfilled or at the deadline.
-- `span`: trace span that ends here. `passId`: the requested pass. `calls`, `eventCalls`: the calls as the turn and the
-- event keep them (JSON). `maxMs`: most ms from the first suspension of the step to the last, '' if `maxSuspensions`
-- limits their number. `isHeld`: a gate chose the time. Three arguments per call follow: its id, the ms to its
-- deadline, and its hash or ''.
-- Reply: 'suspended' | 'exhausted' | a loss by find_loss
-- @args turn, owner, epoch, kind, step, waitMs, maxSuspensions, span, passId, calls, eventCalls, maxMs, isHeld, ...
-- @include keys
-- @include conversation
-- @include events
-- @include waits
-- @include turn-lists
-- @include stream
local key, max_ms, is_held = turnPrefix .. turn, tonumber(maxMs), isHeld == '1'
read_conversation()
local loss = find_loss(turn, owner, epoch)
if loss == 'fenced' then
  -- An earlier attempt of this call, under the same epoch, has already suspended the turn for this step.
  local state, wait_step = unpack(redis.call('HMGET', key, 'state', 'waitStep'))
  local has_left = not conversation.owner and conversation.epoch == epoch
  if has_left and state == 'waiting' and wait_step == step then return 'suspended' end
end
if loss then return loss end
local earlier_kind, earlier_calls, was_held, earlier_step = unpack(redis.call('HMGET', key, 'waitFor', 'waitCalls', 'waitHeld', 'waitStep'))
check_calls(key, earlier_calls or '')
local limit = max_ms and 'suspendedSince:' or 'suspended:'
local before = tonumber(redis.call('HGET', key, limit .. step) or max_ms and now or 0)
if not ANSWERED[kind] and (max_ms and now - before or before) >= (max_ms or tonumber(maxSuspensions)) then return 'exhausted' end

-- If the requested pass has ended, or all answers have arrived, the turn is due at once. The turn does not wait for
-- another pass, because that pass does not know the turn's reasons to compact.
local is_over, is_fulfilled = false, false
if kind == 'compaction' then
  local open_pass, last_pass, has_settled = unpack(redis.call('HMGET', c, 'pass', 'lastPass', 'lastPassSettled'))
  is_over = open_pass ~= passId
  is_fulfilled = is_over and last_pass == passId and has_settled == '1'
elseif ANSWERED[kind] then
  is_over = true
  for at = rest, #ARGV, 3 do
    is_over = is_over and redis.call('HEXISTS', key, 'a:' .. ARGV[at]) == 1
  end
  is_fulfilled = is_over
end
-- A call that was part of an earlier wait keeps its deadline.
local earlier, kept_deadlines = read_waits(earlier_calls)
if earlier_kind ~= kind then kept_deadlines = {} end
local untilMs = math.min(now + tonumber(waitMs), max_ms and before + max_ms or math.huge)
local lines, deadlines, hashes = {}, {}, {}
for at = rest, #ARGV, 3 do
  local deadline = kept_deadlines[ARGV[at]] or now + tonumber(ARGV[at + 1])
  untilMs = math.min(untilMs, deadline)
  deadlines[#deadlines + 1] = string.format('%.0f', deadline)
  lines[#lines + 1] = ARGV[at] .. ' ' .. deadlines[#deadlines]
  if ARGV[at + 2] ~= '' then hashes[#hashes + 1] = ARGV[at] .. ' ' .. ARGV[at + 2] end
end
local untilText = string.format('%.0f', untilMs)
redis.call('HSET', key, 'state', 'waiting', 'suspended', 1, 'waitFor', kind, 'waitStep', step,
  'waitSince', string.format('%.0f', now), 'waitUntil', untilText, 'waitCalls', table.concat(lines, '\n'),
  'waitHashes', table.concat(hashes, '\n'), 'waitArguments', calls, 'waitSteps', count_steps(key), 'waitOpen', keep_open_calls(key, earlier, rest))
if not ANSWERED[kind] then redis.call('HSET', key, limit .. step, max_ms and string.format('%.0f', before) or before + 1) end
redis.call('HDEL', key, 'waitFulfilled', 'waitSpan', 'waitHeld', 'firstOwner')
if is_held then redis.call('HSET', key, 'waitHeld', 1) end
if span ~= '' then redis.call('HSET', key, 'waitSpan', span) end
drop(record, 'owner', 'lease', 'attempts')
schedule(turn_member, is_over and now or untilMs)
if is_over then
  redis.call('HSET', key, 'waitFulfilled', is_fulfilled and 1 or 0)
else
  list_waiting(kind, turn)
  -- A turn may ask its gate again for up to a day. Only the first wait of a step emits an event.
  if not (is_held and was_held and earlier_step == step) then
    emit('turn_waiting', { 'turn', turn, 'for', kind, 'until', untilText, 'calls', eventCalls, 'deadlines', table.concat(deadlines, ',') })
  end
  notify_readers(turn)
end
return 'suspended'
