-- Records the outcome of a step once, appends its messages to the log and extends the lease of the turn.
-- ARGV: turn, owner, epoch, leaseMs, names of the conversation's fields in the reply, the step as JSON, then texts and
-- messages. See shared/outcome.lua.
-- Reply: {'recorded'|'known', values of these fields} | {a loss by find_loss}
-- @include keys
-- @include conversation
-- @include ready
-- @include append
-- @include move-calls
-- @include fence
-- @include stream
-- @include outcome
local turn, owner, epoch, leaseMs, names = unpack(ARGV, 1, 5)
local step = cjson.decode(ARGV[6])
local key = turn_prefix .. turn
local function read_fields()
  local fields = {}
  for name in string.gmatch(names, '%S+') do fields[#fields + 1] = name end
  return redis.call('HMGET', c, unpack(fields))
end
read_conversation()
local loss = find_loss(turn, owner, epoch)
if loss then return { loss } end
local status, counts = find_step(turn, step)
if status == 'known' then return { 'known', read_fields() } end
if status then return { status } end
local facts = {}
record_outcome(turn, step, 7, counts, facts)
local lease = now + tonumber(leaseMs)
schedule(turn_member, lease)
-- Attempts start again at 1, not 0: the present claim counts, because its worker may still die.
save_conversation('lease', string.format('%.0f', lease), 'attempts', 1, unpack(facts))

-- The wait is removed from the turn once it is used. Then the waiting step is recorded and every call of the wait has an
-- answer.
local wait_step, wait_open = unpack(redis.call('HMGET', key, 'waitStep', 'waitOpen'))
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
return { 'recorded', read_fields() }
