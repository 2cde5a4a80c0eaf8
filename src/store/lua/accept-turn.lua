-- Stores a turn, in the mailbox or scheduled (I1, I2). A known turn id answers its present state.
-- ARGV: turn, agent, payload hash, input (JSON, tokens, bytes), wake, dueAt or 0, maxQueuedTurns, schema
-- Reply: {'accepted'|'known', state, 1 where the wake is to be added} | {'conflict'} | {'full', queued}
-- @include keys
-- @include ready
-- @include wake
-- @include create
local turn, agent, hash, wake, dueAt = ARGV[1], ARGV[2], ARGV[3], ARGV[7], tonumber(ARGV[8])
local key = tbase .. turn
if redis.call('EXISTS', gone) == 0 then
  local known = redis.call('HMGET', key, 'hash', 'state')
  if known[1] then
    if known[1] ~= hash then return { 'conflict' } end
    -- Its first reply may be lost, and the wake with it.
    local needs_wake = known[2] == 'queued' and redis.call('HGET', c, 'wake') == wake
    return { 'known', known[2], needs_wake and 1 or 0 }
  end
end
create_conversation(ARGV[10], agent)
local is_due = dueAt <= now
local queued = redis.call('LLEN', mb)
if is_due and queued >= tonumber(ARGV[9]) then return { 'full', queued } end

-- The input lies apart: one value over 64 bytes would cost the hash its compact form for good (712 bytes a turn, not 310).
redis.call('HSET', cp, 'i:' .. turn, ARGV[4])
redis.call('HSET', key, 'agent', agent, 'hash', hash, 'it', ARGV[5], 'ib', ARGV[6],
  'acceptedAt', string.format('%.0f', now), 'state', is_due and 'queued' or 'scheduled')
redis.call('SADD', ix, key)
if not is_due then
  redis.call('HSET', key, 'dueAt', string.format('%.0f', dueAt))
  look_again(scheduled_member(turn), dueAt)
  return { 'accepted', 'scheduled', 0 }
end
redis.call('RPUSH', mb, turn)
if queued == 0 then
  wake_turn(wake)
  return { 'accepted', 'queued', 1 }
end
-- The turns before it have their own wake; one more for each accept was a storm.
redis.call('ZADD', ready, 'NX', string.format('%.0f', now + WAKE_GRACE_MS), turn_member)
return { 'accepted', 'queued', 0 }
