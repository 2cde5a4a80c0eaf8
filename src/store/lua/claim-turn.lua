-- Hands the head turn to an owner under a new epoch. After too many claims without an outcome it settles the turn as poison,
-- if the last claim died alone in its process (I10). A turn that died beside others may have died because of them.
-- ARGV: owner, wake, leaseMs, maxAttempts, failure of a poison turn (JSON), retentionMs, closing result (content as JSON,
-- tokens, bytes)
-- Reply: {'gone'} | {'empty'} | {'held'|'waiting', untilMs} | {'poison', turn, 1 if the wake is to be added} |
-- {'claimed', turn, its fields, the conversation's fields, the user message while it is the last entry of the log}
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
local owner, wake, leaseMs, maxAttempts, poison, retentionMs = unpack(ARGV, 1, 6)
local closing = { ARGV[7], ARGV[8], ARGV[9] }
read_conversation()
local held = redis.call('HMGET', c, 'lease', 'attempts', 'poison', 'poisoned', 'alone')
-- Sent again: the turn is settled, and the next turn belongs to another call.
if held[3] == wake then return { 'poison', held[4], needs_wake(wake) } end
if not head_turn then
  if redis.call('EXISTS', gone) == 1 then return { 'gone' } end
  unschedule(turn_member)
  return { 'empty' }
end

if tonumber(held[1] or 0) > now then
  if conversation.owner == owner then return { 'claimed', head_turn, head_reply(head_turn) } end
  return { 'held', held[1] }
end
local wait = redis.call('HMGET', tbase .. head_turn, 'state', 'wuntil', 'wful')
if wait[1] == 'waiting' and not wait[3] and number_of(tbase .. head_turn, 'wuntil', wait[2]) > now then
  schedule(turn_member, wait[2])
  return { 'waiting', wait[2] }
end

local attempts = tonumber(held[2] or 0)
if attempts >= tonumber(maxAttempts) and held[5] then
  close_open_calls(head_turn, closing)
  settle_turn(head_turn, 'failed', retentionMs, 'failure', poison)
  save_conversation('epoch', raise_epoch(), 'poison', wake, 'poisoned', head_turn)
  return { 'poison', head_turn, pop_head(wake) }
end
check_input(head_turn)
if wait[1] == 'waiting' then forget_waiting(head_turn) end
local attempt = math.min(attempts + 1, tonumber(maxAttempts))
return { 'claimed', head_turn, take_head(head_turn, owner, leaseMs, attempt, closing) }
