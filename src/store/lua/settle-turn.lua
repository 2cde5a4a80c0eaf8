-- Settles the running turn as completed or failed, and claims or wakes the next turn (I7). Only in a failed turn, open
-- tool calls get error results.
-- ARGV: turn, owner, epoch, state, 'answerSeq' or 'failure', value of that field, wake or '' if the caller claims the
-- next turn, retentionMs, leaseMs, result for open tool calls (content as JSON, tokens, bytes), idle TTL of the policy
-- in ms, '0' or ''
-- Reply: {'settled'|'known', 1 if another turn is in the mailbox, 1 if the wake is to be added, then for a claimed next
-- turn: its id, fields, the conversation's fields, its user message} | {a loss by find_loss}
-- @include keys
-- @include conversation
-- @include ready
-- @include wake
-- @include events
-- @include append
-- @include calls
-- @include close
-- @include fence
-- @include settle
-- @include take-head
local turn, owner, epoch, state, field, value, wake, retentionMs, leaseMs = unpack(ARGV, 1, 9)
local closing, ttl = { ARGV[10], ARGV[11], ARGV[12] }, ARGV[13]
read_conversation()
local loss = find_loss(turn, owner, epoch)
-- The lease may be gone because this same call has already settled the turn, and the next turn was claimed. A turn that
-- another worker took over is not settled, because it is in the mailbox (I2).
if loss == 'fenced' and SETTLED[redis.call('HGET', turn_prefix .. turn, 'state')] then
  local is_taken = wake == '' and head_turn and conversation.owner == owner
  if is_taken and tonumber(redis.call('HGET', c, 'lease')) > now then
    return { 'known', 1, 0, head_turn, head_reply(head_turn) }
  end
  return { 'known', head_turn and 1 or 0, needs_wake(wake) }
end
if loss then return { loss } end
if wake == '' and next_turn then check_input(next_turn) end
if state == 'failed' then
  close_open_calls(turn, closing)
  save_conversation('epoch', raise_epoch())
end
settle_head(state, retentionMs, field, value, ttl)
if wake ~= '' or not next_turn then
  local has_next = pop_head(wake)
  return { 'settled', has_next, has_next }
end
-- Only the first turn of a mailbox can wait or have failed claims. So the next turn is queued, and this is its first
-- claim.
redis.call('LPOP', mb)
return { 'settled', 1, 0, next_turn, take_head(next_turn, owner, leaseMs, 1, closing) }
