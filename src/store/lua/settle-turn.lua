-- Settles the running turn as completed or failed, and claims or wakes the next turn (I7). Records the last step before, if
-- it is given. Only in a failed turn, open tool calls get error results.
-- ARGV: turn, owner, epoch, state, 'answerSeq' or 'failure', value of that field, wake or '' if the caller claims the
-- next turn, retentionMs, leaseMs, result for open tool calls (content as JSON, tokens, bytes), idle TTL of the policy
-- in ms, '0' or '', the last step as JSON or '', then texts and messages of the step. See shared/outcome.lua.
-- Reply: {'settled'|'known', 1 if another turn is in the mailbox, 1 if the wake is to be added, fields of the log's end
-- before the next turn's message or {}, the conversation's fields or {}, then for a claimed next turn: its id, fields, its user message} |
-- {a loss by find_loss}
-- @include keys
-- @include conversation
-- @include ready
-- @include wake
-- @include events
-- @include append
-- @include calls
-- @include close
-- @include move-calls
-- @include fence
-- @include settle
-- @include take-head
-- @include outcome
local turn, owner, epoch, state, field, value, wake, retentionMs, leaseMs = unpack(ARGV, 1, 9)
local closing, ttl = { ARGV[10], ARGV[11], ARGV[12] }, ARGV[13]
local step = ARGV[14] ~= '' and cjson.decode(ARGV[14])
local function reply(status, has_next, wakes)
  return { status, has_next, wakes, step and end_of_log() or {}, step and redis.call('HGETALL', c) or {} }
end
local function reply_next(status, next, log_end, fields, record, input)
  return { status, 1, 0, step and log_end or {}, record, next, fields, input }
end
read_conversation()
local loss = find_loss(turn, owner, epoch)
-- The lease may be gone because this same call has already settled the turn, and the next turn was claimed. Another owner
-- may have settled the turn, too, so the epoch of the settlement decides.
if loss == 'fenced' and redis.call('HGET', c, 'settledBy') == epoch then
  local is_taken = wake == '' and head_turn and conversation.owner == owner
  if is_taken and tonumber(redis.call('HGET', c, 'lease')) > now then
    return reply_next('known', head_turn, step and end_before(head_turn), head_reply(head_turn))
  end
  return reply('known', head_turn and 1 or 0, needs_wake(wake))
end
if loss then return { loss } end
local claims_next = wake == '' and next_turn
if claims_next then check_input(next_turn) end
local facts = { 'settledBy', epoch }
local step_status, counts
if step then
  step_status, counts = find_step(turn, step)
  if step_status == 'fenced' then return { step_status } end
end
if state == 'failed' then read_open_calls() end -- before the first write, in case they are damaged
if step and not step_status then record_outcome(turn, step, 15, counts, facts) end
if state == 'failed' then close_open_calls(turn, closing) end
settle_head(state, retentionMs, field, value, ttl)
if claims_next then
  -- Only the first turn of a mailbox can wait or have failed claims. So the next turn is queued, and this is its first
  -- claim.
  redis.call('LPOP', mb)
  local fields, record, input = take_head(next_turn, owner, leaseMs, 1, closing, facts)
  return reply_next('settled', next_turn, conversation.before_input, fields, record, input)
end
if state == 'failed' then save_conversation('epoch', raise_epoch(), unpack(facts)) else save_conversation(unpack(facts)) end
local has_next = pop_head(wake)
return reply('settled', has_next, has_next)
