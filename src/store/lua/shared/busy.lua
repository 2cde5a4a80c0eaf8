-- Adds a turn to a mailbox in which other turns wait or run.
-- @include settle
-- @include take-head
-- @include leave-context

-- Returns the turn in front of which a new steering turn is inserted, or nil for the end of the mailbox. Steering turns
-- stand directly behind the first turn, in order of arrival.
local function find_place()
  local pivot, at = next_turn, #steered_turns + 1
  while pivot and redis.call('HGET', turnPrefix .. pivot, 'steer') do
    at = at + 1
    pivot = redis.call('LINDEX', mb, at)
  end
  return pivot
end

-- Lets a new turn steer the first turn: the message of the new turn is appended before the next model call.
local function steer_head(turn, pivot)
  redis.call('HSET', turnPrefix .. turn, 'steer', 1)
  put(record, 'steering', 1)
  if pivot then redis.call('LINSERT', mb, 'BEFORE', pivot, turn) else redis.call('RPUSH', mb, turn) end
  redis.call('ZADD', ready, 'NX', string.format('%.0f', now + WAKE_GRACE_MS), turn_member)
  return 0
end

-- Cancels the first turn, and puts the new turn in its place. With `is_undone`, the messages of the canceled turn leave
-- the context. Otherwise, if no worker has claimed the canceled turn yet, its message is appended now. So the log does
-- not depend on the speed of workers.
local function replace_head(turn, wake, is_undone, retentionMs, closing)
  local input_seq = value_of(read_turn(head_turn), 'inputSeq')
  if input_seq then
    -- @include open-calls
    -- @include stopped
    close_open_calls(head_turn, closing)
    keep_streamed_text(head_turn)
  elseif not is_undone then
    enter_input(head_turn, closing)
  end
  settle_head('canceled', retentionMs, 'canceledBy', wake)
  if is_undone and input_seq then leave_context(input_seq, 'rolled_back') end
  save_conversation('epoch', raise_epoch())
  drop(record, 'owner', 'lease', 'attempts')
  redis.call('LSET', mb, 0, turn)
  wake_turn(wake)
  return 1
end
