-- Records the outcome of a step once, appends its messages to the log and extends the lease of the turn.
-- `fields`: names of the conversation's fields in the reply. `outcome` (JSON), and the texts and messages that follow:
-- see shared/outcome.lua.
-- Reply: {'recorded'|'known', values of these fields} | {a loss by find_loss}
-- @args turn, owner, epoch, leaseMs, fields, outcome, ...
-- @include ready
-- @include stream
-- @include outcome
local step = cjson.decode(outcome)
local function reply(status)
  local values = {}
  for name in string.gmatch(fields, '%S+') do values[#values + 1] = value_of(record, name) end
  return { status, values }
end
check_keys('HLEN', txt, 'ZCARD', ready)
TURN_FIELDS[#TURN_FIELDS + 1] = 's:' .. step.key
read_conversation()
local loss = find_loss(turn, owner, epoch)
if loss then return { loss } end
local status = find_step(turn, step)
if status == 'known' then return reply('known') end
if status then return { status } end
record_outcome(turn, step, rest)
local lease = now + tonumber(leaseMs)
schedule(turn_member, lease)
-- The present claim counts as one attempt, because its worker may still die.
save_conversation('lease', string.format('%.0f', lease), 'attempts', 1)

-- The wait has been used once its step is recorded and every call of the wait has an answer.
local hash = read_turn(turn)
local wait_step = value_of(hash, 'waitStep')
local left = wait_step and tonumber(value_of(hash, 'waitOpen') or 0)
if wait_step then
  for _, call in ipairs(step.closes) do left = left - drop(hash, 'waitOpen:' .. call) end
  stage(hash, 'waitOpen', left)
end
put(hash)
if left == 0 and (wait_step == step.key or is_step_done(value_of(hash, 's:' .. wait_step))) then
  drop(hash, 'waitFor', 'waitStep', 'waitSince', 'waitUntil', 'waitCalls', 'waitHashes', 'waitArguments',
    'waitSteps', 'waitFulfilled', 'waitHeld', 'waitOpen')
end
notify_readers(turn)
return reply('recorded')
