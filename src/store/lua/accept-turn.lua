-- Accepts a turn into the mailbox, or as scheduled if it has a delay (I1, I2). For a known turn id, the reply has only
-- the state of that turn. If the mailbox is not empty, `onBusy` decides what happens.
-- `input` and `closing`, the result for open tool calls, have a line with tokens and bytes before the JSON. `original`:
-- the failed turn that this turn repeats. `busyTurn`: the turn for which `onBusy` is meant, '' for any.
-- Reply: {'accepted'|'known', state, 1 if the wake is to be added} | {'conflict'} | {'other_agent', agent} |
-- {'other_owner'} | {'forking', 1 if abandoned} | {'full'|'busy', queued} | {'not_failed', state of the turn to repeat or ''}
-- @args turn, agent, hash, input, wake, delayMs, maxQueuedTurns, schema, original, traceParent, context, onBusy,
--   retentionMs, closing, caps, busyTurn, metadata, own, ownedBy, title
-- @include wake
-- @include create
-- @include index
local sizes = check_keys('LLEN', mb, 'HLEN', txt, 'HLEN', ix, 'ZCARD', ready)
local key = turnPrefix .. turn
local is_gone = redis.call('EXISTS', gone) == 1
local known_hash, state = unpack(is_gone and {} or redis.call('HMGET', key, 'hash', 'state'))
if known_hash then
  if known_hash ~= hash then return { 'conflict' } end
  -- If the first reply was lost, the caller never added the wake to the queue, and must add it now.
  return { 'known', state, state == 'queued' and value_of(record, 'wake') == wake and 1 or 0 }
end
local refusal, known_agent, owner = find_refusal(is_gone, agent)
if refusal then return refusal end
if original ~= '' then
  local original_state = not is_gone and redis.call('HGET', turnPrefix .. original, 'state') or ''
  if original_state ~= 'failed' then return { 'not_failed', original_state } end
end
local is_due = tonumber(delayMs) <= 0
local queued = is_gone and 0 or sizes[mb]
if is_due and queued > 0 and onBusy == 'reject' then return { 'busy', queued } end
-- `others`: number of turns that stay in the mailbox beside the new turn. `add_turn` puts the new turn there.
local others, add_turn = queued, push_turn
if is_due and queued > 0 and (onBusy == 'steer' or onBusy == 'interrupt' or onBusy == 'rollback') then
  -- @include busy
  read_conversation()
  if busyTurn ~= '' and not ends_with_head(busyTurn) then onBusy = 'enqueue' end
  if onBusy == 'steer' then
    local pivot = find_place()
    add_turn = function() return steer_head(turn, pivot) end
  elseif onBusy ~= 'enqueue' then
    check_input(head_turn)
    check_settlement('canceled')
    others = queued - 1 - #steered_turns
    add_turn = function() return replace_head(turn, wake, onBusy == 'rollback', retentionMs, closing) end
  end
end
if is_due and others >= tonumber(maxQueuedTurns) then return { 'full', queued } end
if not known_agent then create_conversation(is_gone, schema, agent) end
touch_conversation(owner or ownedBy)

if original ~= '' then
  -- A worker of an earlier release left the text where it was.
  own = redis.call('HGET', turnPrefix .. original, 'own') or redis.call('HGET', txt, 'o:' .. original) or ''
  redis.call('HSET', turnPrefix .. original, 'redrivenAs', turn)
end
-- Texts are no fields of the turn's hash. A value over 64 bytes would end the compact encoding of that hash (712 bytes a
-- turn, not 310).
redis.call('HSET', txt, 'i:' .. turn, input)
if context ~= '' then redis.call('HSET', txt, 'c:' .. turn, context) end
if own ~= '' then redis.call('HSET', txt, 'o:' .. turn, own) end

local due_at = not is_due and string.format('%.0f', now + tonumber(delayMs)) or ''
local fields = { 'agent', agent, 'hash', hash, 'acceptedAt', string.format('%.0f', now), 'state',
  is_due and 'queued' or 'scheduled' }
for name, value in pairs({ caps = caps, metadata = metadata, trace = traceParent, redriveOf = original, dueAt = due_at,
  hasContext = context == '' and '' or 1, hasOwn = own == '' and '' or 1 }) do
  if value ~= '' then
    fields[#fields + 1] = name
    fields[#fields + 1] = value
  end
end
redis.call('HSET', key, unpack(fields))
index_key('t:' .. turn)
local adds_wake = is_due and add_turn(turn, wake) or 0
if record.staged then put(record) end
if is_due then return { 'accepted', 'queued', adds_wake } end
schedule(scheduled_member(turn), due_at)
return { 'accepted', 'scheduled', 0 }
