-- Records the outcome of a step once, appends its messages to the log and extends the lease of the turn.
-- ARGV: the step as JSON (fields below), then `texts` pairs of hash and text, then the messages as append_messages reads them.
-- Messages stay separate arguments, because Lua must not re-encode JSON.
-- Reply: {'recorded'|'known', values of `fields` in the conversation} | {a loss by find_loss}
-- @include keys
-- @include conversation
-- @include ready
-- @include append
-- @include move-calls
-- @include fence
-- @include stream
-- The JSON holds the fence (turn, owner, epoch, leaseMs), `key` of the step, the usage, and optionally expectedHead of the log.
-- `anchor` is the size by the provider's count. `answered` is a version that a model answered. `facts` are the sizes and
-- limits of the request. All three are optional.
-- `ending` says how an incomplete answer ended, or ''. `texts` counts the pairs.
-- `fields` names the conversation's fields in the reply. move_calls reads `opens` and `closes`.
local step = cjson.decode(ARGV[1])
local turn = step.turn
local key = turn_prefix .. turn
local function is_done(record)
  return record and string.sub(record, 1, 5) == 'done '
end
read_conversation()
local loss = find_loss(turn, step.owner, step.epoch)
if loss then return { loss } end
local record, request_tokens, wait_step, wait_open = unpack(redis.call('HMGET', key,
  's:' .. step.key, 'requestTokens', 'waitStep', 'waitOpen'))
if is_done(record) then return { 'known', redis.call('HMGET', c, unpack(step.fields)) } end
local head = conversation.head
if step.expectedHead and step.expectedHead ~= head then return { 'fenced' } end

move_calls(step.opens, step.closes)
local first_message = 2 + 2 * step.texts
for at = 2, first_message - 1, 2 do redis.call('HSETNX', txt, 'x:' .. ARGV[at], ARGV[at + 1]) end
append_messages(ARGV, first_message, turn)
local to = conversation.head
local seqs = to > head and string.format(' %.0f %.0f %s', head + 1, to, step.ending) or ''
local changes = { 's:' .. step.key, string.format('done %.0f', now) .. seqs }
local function change(field, value)
  changes[#changes + 1] = field
  changes[#changes + 1] = value
end
for _, name in ipairs({ 'inputTokens', 'outputTokens', 'cachedTokens', 'costMicros' }) do
  if step[name] > 0 then redis.call('HINCRBY', key, name, string.format('%.0f', step[name])) end
end
if step.requestTokens then change('requestTokens', (request_tokens or '') .. string.format('%.0f ', step.requestTokens)) end
redis.call('HSET', key, unpack(changes))
local lease = now + step.leaseMs
schedule(turn_member, lease)
local extra = {}
local anchor, answered = step.anchor, step.answered
if anchor then
  extra = { 'anchor', string.format('%.0f %.0f %.0f %.0f %.0f %s whole', to, anchor.tokens, anchor.version,
    conversation.tokens, conversation.bytes, anchor.fingerprint) }
end
if answered and answered > tonumber(redis.call('HGET', c, 'answered') or -1) then
  extra[#extra + 1] = 'answered'
  extra[#extra + 1] = answered
end
if step.facts then
  extra[#extra + 1] = 'facts'
  extra[#extra + 1] = step.facts
end
-- Attempts start again at 1, not 0: the present claim counts, because its worker may still die.
save_conversation('lease', string.format('%.0f', lease), 'attempts', 1, unpack(extra))

-- The wait is removed from the turn once it is used. Then the waiting step is recorded and every call of the wait has an
-- answer.
if wait_step then
  local left = tonumber(wait_open or 0)
  for _, call in ipairs(step.closes) do left = left - redis.call('HDEL', key, 'waitOpen:' .. call) end
  redis.call('HSET', key, 'waitOpen', left)
  if left == 0 and (wait_step == step.key or is_done(redis.call('HGET', key, 's:' .. wait_step))) then
    redis.call('HDEL', key, 'waitFor', 'waitStep', 'waitSince', 'waitUntil', 'waitCalls', 'waitArguments', 'waitSteps',
      'waitFulfilled', 'waitOpen')
  end
end
notify_readers(turn)
return { 'recorded', redis.call('HMGET', c, unpack(step.fields)) }
