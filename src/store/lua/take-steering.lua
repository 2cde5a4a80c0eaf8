-- Appends the messages of steering turns to the log, before the next model call of the running turn. A steering turn
-- stays behind the running turn in the mailbox, and ends together with it. Nothing is appended while tool calls have no
-- results, because no message may follow such calls.
-- `refuses`: 'parts' if the agent accepts no images and files of callers, else ''. The turn of a message with them
-- steers nothing. It moves behind the turns that steer, and its worker refuses it.
-- Reply: {'taken', the conversation's fields} | {a loss by find_loss}
-- @args turn, owner, epoch, refuses
-- @include keys
-- @include open-calls
-- @include take-head
-- @include events
-- @include stream
read_conversation()
local loss = find_loss(turn, owner, epoch)
if loss then return { loss } end
if #read_open_calls() > 0 then return { 'taken', redis.call('HGETALL', c) } end
local function is_refused(input)
  local is_json, message = pcall(cjson.decode, string.match(input or '', '\n(.*)'))
  return is_json and type(message) == 'table' and message[refuses] ~= nil
end
local taken, refused, steering = {}, {}, next_turn
while steering and value_of(read_turn(steering), 'steer') do
  check_input(steering)
  local list = refuses ~= '' and is_refused(inputs[steering]) and refused or taken
  list[#list + 1] = steering
  steering = redis.call('LINDEX', mb, #steered_turns + #taken + #refused + 1)
end
for _, message_turn in ipairs(taken) do
  enter_input(message_turn)
  put(read_turn(message_turn), 'steeredInto', turn)
  drop(read_turn(message_turn), 'steer')
  emit('turn_steered', { 'turn', message_turn, 'into', turn, 'seq', conversation.head })
end
for at = #refused, 1, -1 do
  drop(read_turn(refused[at]), 'steer')
  redis.call('LREM', mb, 1, refused[at])
  redis.call('LINSERT', mb, 'AFTER', taken[#taken] or steered_turns[#steered_turns] or head_turn, refused[at])
end
save_conversation()
drop(record, 'steering')
if #taken > 0 then notify_readers(turn) end
return { 'taken', redis.call('HGETALL', c) }
