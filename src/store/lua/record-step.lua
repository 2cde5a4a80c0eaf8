-- Appends a step's messages and records its outcome, once; extends the lease.
-- ARGV: turn, owner, epoch, leaseMs, key, expected head or '', anchor (tokens, version, setup or '') or '', '', '', version
-- that a model answered over or '', input tokens, output tokens, tokens of the request or '', how its answer ended or '';
-- then each with its count before it: fields of the conversation to answer, lines of opened calls, ids of answered calls, texts
-- (hash, text), messages
-- Reply: {'recorded'|'known', values of these fields} | {what find_loss answers}
-- @include keys
-- @include conversation
-- @include ready
-- @include args
-- @include append
-- @include move-calls
-- @include fence
local turn, owner, epoch, leaseMs, step = take(), take(), take(), take(), take()
local expected, anchor, anchorVersion, setup, answered = take(), take(), take(), take(), take()
local inputTokens, outputTokens, requestTokens, ending = take(), take(), take(), take()
local key = tbase .. turn
local function is_done(record)
  return record and string.sub(record, 1, 5) == 'done '
end
read_conversation()
local loss = find_loss(turn, owner, epoch)
if loss then return { loss } end
local fields = {}
for at = 1, tonumber(take()) do fields[at] = take() end
local known = redis.call('HMGET', key, 's:' .. step, 'ui', 'uo', 'rt', 'wstep', 'wleft')
if is_done(known[1]) then return { 'known', redis.call('HMGET', c, unpack(fields)) } end
local head = conversation.head
if expected ~= '' and tonumber(expected) ~= head then return { 'fenced' } end

local closed = move_calls()
for _ = 1, tonumber(take()) do
  local hash = take()
  redis.call('HSETNX', cp, 'x:' .. hash, take())
end
append_messages(ARGV, position + 1, turn)
local to = conversation.head
local seqs = to > head and string.format(' %.0f %.0f %s', head + 1, to, ending) or ''
local changes = { 's:' .. step, string.format('done %.0f', now) .. seqs }
local function change(field, value)
  changes[#changes + 1] = field
  changes[#changes + 1] = value
end
if inputTokens ~= '0' then change('ui', string.format('%.0f', (known[2] or 0) + inputTokens)) end
if outputTokens ~= '0' then change('uo', string.format('%.0f', (known[3] or 0) + outputTokens)) end
if requestTokens ~= '' then change('rt', (known[4] or '') .. requestTokens .. ' ') end
redis.call('HSET', key, unpack(changes))
local lease = now + leaseMs
look_again(turn_member, lease)
local told = {}
if anchor ~= '' then
  local total = string.format('%.0f %.0f', conversation.tokens, conversation.bytes)
  told = { 'anchor', table.concat({ to, anchor, anchorVersion, total, setup, 'whole' }, ' ') }
end
if answered ~= '' and tonumber(answered) > tonumber(redis.call('HGET', c, 'answered') or -1) then
  told[#told + 1] = 'answered'
  told[#told + 1] = answered
end
-- This claim may still die, and counts.
save_conversation('lease', string.format('%.0f', lease), 'attempts', 1, unpack(told))

-- Every claim is told what the turn waited for until the wait is used: its step is recorded and none of its calls is open.
if known[5] then
  local left = tonumber(known[6] or 0)
  for _, call in ipairs(closed) do left = left - redis.call('HDEL', key, 'w:' .. call) end
  redis.call('HSET', key, 'wleft', left)
  if left == 0 and (known[5] == step or is_done(redis.call('HGET', key, 's:' .. known[5]))) then
    redis.call('HDEL', key, 'wfor', 'wstep', 'wsince', 'wuntil', 'wcalls', 'wasks', 'wsteps', 'wful', 'wleft')
  end
end
return { 'recorded', redis.call('HMGET', c, unpack(fields)) }
