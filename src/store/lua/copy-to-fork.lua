-- Copies a batch of texts and log entries into a fork, byte for byte. A repeated batch is recognized by the last seq of
-- the fork's log (I5).
-- `expected`: last seq of the copy before this batch. Counted pairs of field and text follow, then counted lists:
-- entries (1 for a user message, the entry), opened calls, ids of answered calls.
-- Reply: {'copied', last seq of the copy} | {'superseded'} | {'gone'}
-- @args operation, leaseMs, expected, ...
-- @include keys
-- @include args
-- @include open-calls
-- @include fork
local loss = find_fork_loss(operation)
if loss then return { loss } end
lease_fork(leaseMs)
read_conversation()
for _ = 1, tonumber(take()) do
  local field = take()
  redis.call('HSETNX', txt, field, take())
end
if conversation.head ~= tonumber(expected) then return { 'copied', conversation.head } end
for _ = 1, tonumber(take()) do
  local is_user, entry = take(), take()
  local tokens, bytes = string.match(entry, '^%S+ %S+ (%S+) (%S+)')
  conversation.head = conversation.head + 1
  conversation.turns = conversation.turns + tonumber(is_user)
  conversation.tokens, conversation.bytes = tonumber(tokens), tonumber(bytes)
  redis.call('HSET', log, conversation.head, entry)
end
move_calls(take_list(), take_list())
save_conversation()
return { 'copied', conversation.head }
