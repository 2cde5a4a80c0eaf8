-- Gives the first turn of the mailbox to a worker, under a new epoch that fences former owners. If the turn's workers
-- keep dying without an outcome, and the last process ran only this turn, the turn is settled as failed (poison, I10).
-- `poison`: failure of a poison turn (JSON). `maxMessages` and `maxBytes` limit the context in the reply. `agents`:
-- those of the worker between spaces, '' for any.
-- Reply: {'gone'} | {'empty'} | {'leased'|'waiting', untilMs} | {'unserved', agent} | {'poison', turn, 1 if the wake is
-- to be added} | {'claimed', turn, its fields, the conversation's fields, the user message while it is the last entry
-- of the log, the log before this message or nil}
-- @args owner, wake, leaseMs, maxAttempts, poison, retentionMs, closing, maxMessages, maxBytes, agents
-- @include settle
-- @include take-head
read_conversation(true)
-- Returns the messages up to seq `last`. nil if these messages are not the whole context, or are too large.
local function short_log(last)
  if (value_of(record, 'version') or '0') ~= '0' or last > tonumber(maxMessages) then return nil end
  local before, most_bytes = conversation.before_input, tonumber(maxBytes)
  if before and before.bytes > most_bytes then return nil end
  local messages, bytes, seqs = {}, 0, {}
  if last == 0 then return messages end
  for seq = 1, last do seqs[seq] = seq end
  for seq, entry in ipairs(redis.call('HMGET', log, unpack(seqs))) do
    messages[seq] = entry and string.match(entry, '\n(.*)')
    bytes = bytes + #(messages[seq] or '')
    if not messages[seq] or bytes > most_bytes then return nil end
  end
  return messages
end
local function claimed(fields, conversation_fields, input)
  return { 'claimed', head_turn, fields, conversation_fields, input, short_log(conversation.head - (input == '' and 0 or 1)) }
end
-- An earlier attempt of this claim has settled the turn as poison. The next turn needs another claim.
if value_of(record, 'poison') == wake then return { 'poison', value_of(record, 'poisoned'), needs_wake(wake) } end
if not head_turn then
  if redis.call('EXISTS', gone) == 1 then return { 'gone' } end
  unschedule(turn_member)
  return { 'empty' }
end

local former = value_of(record, 'lease')
if tonumber(former or 0) > now then
  if conversation.owner == owner then return claimed(head_reply(head_turn)) end
  return { 'leased', former }
end
local agent = value_of(record, 'agent') or ''
if agents ~= '' and not string.find(agents, ' ' .. agent .. ' ', 1, true) then return { 'unserved', agent } end
local turn = read_turn(head_turn)
local state = value_of(turn, 'state')
-- The field `putOff` exists if a worker gave the turn back with a delay.
local name = state == 'waiting' and not value_of(turn, 'waitFulfilled') and 'waitUntil' or 'putOff'
local until_ms = value_of(turn, name) or name == 'putOff' and '0'
if number_of(turn.key, name, until_ms) > now then
  schedule(turn_member, until_ms)
  return { 'waiting', until_ms }
end

local attempts, alone = tonumber(value_of(record, 'attempts') or 0), value_of(record, 'alone')
-- Without a report of its death, a watched process may have died with its machine. So its turn gets twice the claims.
local most_attempts = (alone == 'watched' and 2 or 1) * tonumber(maxAttempts)
if alone and attempts >= most_attempts then
  -- @include poison
  settle_poison(wake, poison, retentionMs, closing)
  return { 'poison', head_turn, pop_head(wake) }
end
check_input(head_turn)
local end_listing
if state == 'waiting' then
  -- @include turn-lists
  check_keys('ZCARD', waiting)
  end_listing = forget_waiting
end
local lease = start_lease(leaseMs)
if end_listing then end_listing(head_turn) end
return claimed(take_head(head_turn, owner, lease, math.min(attempts + 1, most_attempts), closing))
