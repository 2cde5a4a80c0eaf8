-- Cancels an unsettled turn. The text that readers of the turn have seen is appended to the log. Turns that steer the
-- canceled turn end together with it.
-- `replacedBy`: the turn that takes the place of this one, '' for none. A turn that has begun cannot be replaced.
-- Reply: {'canceled', 1 if the wake is to be added} | {'begun'} | {'settled', state} | {'not_found'}
-- @args turn, wake, retentionMs, closing, replacedBy
-- @include keys
-- @include open-calls
-- @include settle
local state, input_seq, canceled_by, replaced_by = unpack(redis.call('HMGET', turnPrefix .. turn, 'state', 'inputSeq',
  'canceledBy', 'replacedBy'))
if not state or redis.call('EXISTS', gone) == 1 then return { 'not_found' } end
read_conversation()
if SETTLED[state] then
  -- An earlier attempt of this cancel has already settled the turn.
  if canceled_by == wake then return { 'canceled', needs_wake(wake) } end
  -- The turn behind has the wake of the earlier call. If that wake was lost, the sweep adds one.
  if replacedBy ~= '' and replaced_by == replacedBy then return { 'canceled', 0 } end
  return { 'settled', state }
end
if replacedBy ~= '' then
  if input_seq or state == 'running' then return { 'begun' } end
  put(read_turn(turn), 'replacedBy', replacedBy)
end

local is_head = ends_with_head(turn)
if is_head and input_seq then
  -- @include stopped
  close_open_calls(head_turn, closing)
  keep_streamed_text(head_turn)
end
if is_head then
  settle_head('canceled', retentionMs, 'canceledBy', wake)
  save_conversation('epoch', raise_epoch())
  return { 'canceled', pop_head(wake) }
end
settle_turn(turn, 'canceled', retentionMs, 'canceledBy', wake)
save_conversation()
redis.call('LREM', mb, 1, turn)
unschedule(scheduled_member(turn))
return { 'canceled', 0 }
