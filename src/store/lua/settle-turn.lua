-- Settles the head as completed or failed and lets the next turn go. Appends nothing but the closing results of a failed one.
-- ARGV: turn, owner, epoch, state, 'answerSeq' or 'failure', its value, wake or '' where the caller takes the next turn
-- itself, retentionMs, leaseMs, closing result (content as JSON, tokens, bytes)
-- Reply: {'settled'|'known', 1 where another turn waits, 1 where the wake is to be added, then for the next turn taken: its
-- id, fields, the conversation's fields, its user message} | {'fenced'} | {'gone'}
-- @include keys
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
local closing = { ARGV[10], ARGV[11], ARGV[12] }
local loss = find_loss(turn, owner, epoch)
if loss == 'gone' then return { loss } end
-- Before the fence: a settle sent again after the next claim is no lost lease.
if SETTLED[redis.call('HGET', tbase .. turn, 'state')] then
  local next_turn = redis.call('LINDEX', mb, 0)
  local held = redis.call('HMGET', c, 'owner', 'lease')
  local has_next, needs_wake = next_turn and 1 or 0, is_recorded(wake) and 1 or 0
  local is_taken = wake == '' and next_turn and held[1] == owner and tonumber(held[2]) > now
  if not is_taken then return { 'known', has_next, needs_wake } end
  return { 'known', has_next, needs_wake, next_turn, tell_head(next_turn) }
end
if loss then return { loss } end
if state == 'failed' then
  close_open_calls(turn, closing)
  raise_epoch()
end
settle_turn(turn, state, retentionMs, field, value)
if not pop_head(wake) then return { 'settled', 0, 0 } end
if wake ~= '' then return { 'settled', 1, 1 } end
-- Only a head waits or has failed claims behind it: the next turn is queued and this is its first.
local next_turn = redis.call('LINDEX', mb, 0)
return { 'settled', 1, 0, next_turn, take_head(next_turn, owner, leaseMs, 1, closing) }
