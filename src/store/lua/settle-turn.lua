-- Settles the head as completed or failed and lets the next turn go. Appends nothing but the closing results of a failed one.
-- ARGV: turn, owner, epoch, state, 'answerSeq' or 'failure', its value, wake or '', retentionMs, closing result (content as
-- JSON, tokens, bytes)
-- Reply: {'settled'|'known', 1 where another turn waits, 1 where the wake is to be added} | {'fenced'} | {'gone'}
-- @include keys
-- @include ready
-- @include wake
-- @include events
-- @include append
-- @include close
-- @include fence
-- @include settle
local turn, owner, epoch, state, field, value, wake = unpack(ARGV, 1, 7)
local loss = find_loss(turn, owner, epoch)
if loss == 'gone' then return { loss } end
-- Before the fence: a settle sent again after the next claim is no lost lease.
if SETTLED[redis.call('HGET', tbase .. turn, 'state')] then
  return { 'known', redis.call('LLEN', mb) > 0 and 1 or 0, is_recorded(wake) and 1 or 0 }
end
if loss then return { loss } end
if state == 'failed' then
  close_open_calls(turn, ARGV[9], ARGV[10], ARGV[11])
  raise_epoch()
end
settle_turn(turn, state, ARGV[8], field, value)
local has_next = pop_head(wake)
return { 'settled', has_next and 1 or 0, has_next and wake ~= '' and 1 or 0 }
