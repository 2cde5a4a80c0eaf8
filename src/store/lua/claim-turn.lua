-- Hands the head turn to an owner under a new epoch; settles it as poison where too many claims brought no outcome.
-- ARGV: owner, wake, leaseMs, maxAttempts, failure of a poison turn (JSON), retentionMs, closing result (content as JSON,
-- tokens, bytes)
-- Reply: {'gone'} | {'empty'} | {'held'|'waiting', untilMs} | {'poison', turn, 1 where the wake is to be added} |
-- {'claimed', turn, its fields, the conversation's fields, the user message while it is the log's last entry}
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
local owner, wake = ARGV[1], ARGV[2]
if redis.call('EXISTS', gone) == 1 then return { 'gone' } end
local held = redis.call('HMGET', c, 'owner', 'lease', 'attempts', 'poison', 'poisoned')
-- Sent again: the turn is settled, and the next one is not this call's.
if held[4] == wake then return { 'poison', held[5], is_recorded(wake) and 1 or 0 } end
local turn = redis.call('LINDEX', mb, 0)
if not turn then
  leave_alone(turn_member)
  return { 'empty' }
end

local key = tbase .. turn
if tonumber(held[2] or 0) > now then
  if held[1] == owner then return { 'claimed', turn, tell_head(turn) } end
  return { 'held', held[2] }
end
local head = redis.call('HMGET', key, 'state', 'wuntil', 'wful')
if head[1] == 'waiting' and not head[3] and tonumber(head[2]) > now then
  look_again(turn_member, head[2])
  return { 'waiting', head[2] }
end

local closing = { ARGV[7], ARGV[8], ARGV[9] }
local attempts = tonumber(held[3] or 0) + 1
if attempts > tonumber(ARGV[4]) then
  close_open_calls(turn, closing)
  settle_turn(turn, 'failed', ARGV[6], 'failure', ARGV[5])
  raise_epoch()
  redis.call('HSET', c, 'poison', wake, 'poisoned', turn)
  return { 'poison', turn, pop_head(wake) and 1 or 0 }
end
return { 'claimed', turn, take_head(turn, owner, ARGV[3], attempts, closing) }
