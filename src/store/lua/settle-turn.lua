-- Settles the head as completed or failed and lets the next turn go. Appends nothing but the closing results of a failed one.
-- ARGV: turn, owner, epoch, state, 'answerSeq' or 'failure', its value, wake or '' where the caller takes the next turn
-- itself, retentionMs, leaseMs, closing result (content as JSON, tokens, bytes), ms of the policy's time to live,
-- '0' or ''
-- Reply: {'settled'|'known', 1 where another turn waits, 1 where the wake is to be added, then for the next turn taken: its
-- id, fields, the conversation's fields, its user message} | {what find_loss answers}
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
-- A settle sent again after the next claim is no lost lease. A turn that is not lost is in the mailbox, so not settled (I2).
if loss == 'fenced' and SETTLED[redis.call('HGET', tbase .. turn, 'state')] then
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
settle_turn(turn, state, retentionMs, field, value, ttl)
if wake ~= '' or not next_turn then
  local has_next = pop_head(wake)
  return { 'settled', has_next, has_next }
end
-- Only a head waits or has failed claims behind it: the next turn is queued and this is its first.
redis.call('LPOP', mb)
return { 'settled', 1, 0, next_turn, take_head(next_turn, owner, leaseMs, 1, closing) }
