-- Cancels an unsettled turn. The text that readers of the turn have seen is appended to the log. Turns that steer the
-- canceled turn end together with it.
-- ARGV: turn, wake, retentionMs, result for open tool calls (content as JSON, tokens, bytes)
-- Reply: {'canceled', 1 if the wake is to be added} | {'settled', state} | {'not_found'}
-- @include keys
-- @include conversation
-- @include ready
-- @include wake
-- @include events
-- @include append
-- @include open-calls
-- @include settle
local turn, wake = ARGV[1], ARGV[2]
local state, input_seq, canceled_by = unpack(redis.call('HMGET', turn_prefix .. turn, 'state', 'inputSeq', 'canceledBy'))
if not state or redis.call('EXISTS', gone) == 1 then return { 'not_found' } end
read_conversation()
if SETTLED[state] then
  -- An earlier attempt of this cancel has already settled the turn.
  if canceled_by == wake then return { 'canceled', needs_wake(wake) } end
  return { 'settled', state }
end

local is_head = ends_with_head(turn)
if is_head and input_seq then
  -- @include stopped
  close_open_calls(head_turn, { ARGV[4], ARGV[5], ARGV[6] })
  keep_streamed_text(head_turn)
end
if is_head then
  settle_head('canceled', ARGV[3], 'canceledBy', wake)
  save_conversation('epoch', raise_epoch())
  return { 'canceled', pop_head(wake) }
end
settle_turn(turn, 'canceled', ARGV[3], 'canceledBy', wake)
save_conversation()
redis.call('LREM', mb, 1, turn)
unschedule(scheduled_member(turn))
return { 'canceled', 0 }
