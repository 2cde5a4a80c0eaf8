-- Settles the running turn as completed or failed, and claims or wakes the next turn (I7). If the caller gives the last
-- step, it is recorded first. Only in a failed turn, open tool calls get error results.
-- `field`: 'answerSeq' or 'failure', and its `value`. `wake`: '' if the caller claims the next turn. `ttl`: idle TTL of
-- the policy in ms, '0' or ''. `leaves`: first seq that leaves the context, and why. `outcome` (JSON) of the last step,
-- and the texts and messages that follow: see shared/outcome.lua.
-- Reply: {'settled'|'known', 1 if another turn is in the mailbox, 1 if the wake is to be added, fields of the log's end
-- before the next turn's message or {}, the conversation's fields or {}, then for a claimed next turn: its id, fields,
-- its user message} | {a loss by find_loss}
-- @args turn, owner, epoch, state, field, value, wake, retentionMs, leaseMs, closing, ttl, leaves, outcome, ...
-- @include settle
-- @include take-head
-- @include outcome
local step = outcome ~= '' and cjson.decode(outcome)
local function reply(status, has_next, wakes)
  return { status, has_next, wakes, step and end_fields(conversation) or {}, step and fields_of(record) or {} }
end
local function reply_next(status, claimed_turn, log_end, fields, conversation_fields, input)
  return { status, 1, 0, step and log_end and end_fields(log_end) or {}, conversation_fields, claimed_turn, fields, input }
end
if step then TURN_FIELDS[#TURN_FIELDS + 1] = 's:' .. step.key end
read_conversation()
local loss = find_loss(turn, owner, epoch)
-- An earlier attempt of this call may have settled the turn, and the next turn was claimed since. But another owner may
-- have settled the turn, too, so the epoch of the settlement decides.
if loss == 'fenced' and value_of(record, 'settledBy') == epoch then
  local is_taken = wake == '' and head_turn and conversation.owner == owner
  if is_taken and tonumber(value_of(record, 'lease')) > now then
    return reply_next('known', head_turn, step and end_before(head_turn), head_reply(head_turn))
  end
  return reply('known', head_turn and 1 or 0, needs_wake(wake))
end
if loss then return { loss } end
check_settlement(state, ttl)
local claims_next = wake == '' and next_turn
if claims_next then check_input(next_turn) else check_keys('HLEN', txt, 'ZCARD', ready) end
local step_status = step and find_step(turn, step)
if step_status == 'fenced' then return { step_status } end
local close
if state == 'failed' then
  -- @include open-calls
  close = close_open_calls
  read_open_calls() -- before the first write, because a damaged call ends the script
end
local lease = claims_next and start_lease(leaseMs)
if step and not step_status then record_outcome(turn, step, rest) end
if close then close(turn, closing) end
if leaves ~= '' then
  -- @include leave-context
  leave_context(string.match(leaves, '^(%d+) (%S+)$'))
end
stage(record, 'settledBy', epoch)
settle_head(state, retentionMs, field, value, ttl)
if claims_next then
  -- Only the first turn of a mailbox can wait or have failed claims. The next turn was not first before, so this is its
  -- first claim.
  redis.call('LPOP', mb)
  local fields, conversation_fields, input = take_head(next_turn, owner, lease, 1, closing)
  return reply_next('settled', next_turn, conversation.before_input, fields, conversation_fields, input)
end
if state == 'failed' then stage(record, 'epoch', raise_epoch()) end
save_conversation()
local has_next = pop_head(wake)
return reply('settled', has_next, has_next)
