-- Appends messages to the log without a turn, for a caller with its own model loop. The append is refused while turns
-- are queued or run, or if the log has grown since the caller read it.
-- `expected`: the last seq that the caller knows. `passId` and `passWake` name the pass for the first messages of a
-- log. Counted lists follow: opened calls, ids of answered calls, messages.
-- Reply: {'appended'|'known', from, to} | {'other_agent', agent} | {'other_owner'} | {'forking', 1 if abandoned} | {'busy'} |
-- {'conflict', head} | {'other_payload'}
-- @args operation, agent, schema, expected, operationMs, passId, passWake, ownedBy, title, ...
-- @include keys
-- @include create
-- @include idle-ttl
-- @include args
-- @include open-calls
-- @include operations
local head, owner = 0, ownedBy
local is_gone = redis.call('EXISTS', gone) == 1
-- Keys that an erase has left are ignored, because the conversation is created again.
if not is_gone then
  local known, is_other = find_answer(operation, '')
  if is_other then return { 'other_payload' } end
  if known then
    local from, to = string.match(known, '(%d+) (%d+)')
    return { 'known', tonumber(from), tonumber(to) }
  end
  local refusal, _, known_owner = find_refusal(is_gone, agent)
  if refusal then return refusal end
  owner = known_owner or ownedBy
  if redis.call('LLEN', mb) > 0 then return { 'busy' } end
  head = tonumber(redis.call('HGET', c, 'head') or 0)
end
if head ~= tonumber(expected) then return { 'conflict', head } end
create_conversation(is_gone, schema, agent)
touch_conversation(owner)
read_conversation()
move_calls(take_list(), take_list())
append_messages(ARGV, rest, '-')
save_conversation()
if head == 0 and passId ~= '' and redis.call('EXISTS', pass) == 0 then
  -- @include open-passes
  create_pass(passId, passWake, 'reasons', '')
end
local to = conversation.head
keep_answer(operation, string.format('%d %d', head + 1, to), operationMs, '')
start_idle_ttl(conversation.ttl)
if has_enough_to_pack() then
  -- @include packing
  schedule_packing(now + PACK_AFTER_MS)
end
return { 'appended', head + 1, to }
