-- Appends a step's messages and records its outcome, once; extends the lease.
-- ARGV: turn, owner, epoch, leaseMs, key, expected head or '', anchor (tokens, version) or '', '', input tokens, output
-- tokens, tokens of the request or ''; then each
-- with its count before it: lines of opened calls, ids of answered calls, texts (hash, text), messages
-- Reply: {'recorded'|'known', the conversation's fields} | {'fenced'} | {'gone'}
-- @include keys
-- @include ready
-- @include args
-- @include append
-- @include calls
-- @include move-calls
-- @include fence
local turn, owner, epoch, leaseMs, step = take(), take(), take(), take(), take()
local expected, anchor, anchorVersion = take(), take(), take()
local inputTokens, outputTokens, requestTokens = take(), take(), take()
local key = tbase .. turn
local function is_done(name)
  local record = redis.call('HGET', key, 's:' .. name)
  return record and string.sub(record, 1, 5) == 'done '
end
local loss = find_loss(turn, owner, epoch)
if loss then return { loss } end
if is_done(step) then return { 'known', redis.call('HGETALL', c) } end
local head = tonumber(redis.call('HGET', c, 'head'))
if expected ~= '' and tonumber(expected) ~= head then return { 'fenced' } end

move_calls()
for _ = 1, tonumber(take()) do
  local hash = take()
  redis.call('HSETNX', cp, 'x:' .. hash, take())
end
local to = append_messages(position + 1, turn)
local seqs = to > head and string.format(' %.0f %.0f', head + 1, to) or ''
redis.call('HSET', key, 's:' .. step, 'done ' .. string.format('%.0f', now) .. seqs)
if inputTokens ~= '0' then redis.call('HINCRBY', key, 'ui', inputTokens) end
if outputTokens ~= '0' then redis.call('HINCRBY', key, 'uo', outputTokens) end
if requestTokens ~= '' then
  redis.call('HSET', key, 'rt', (redis.call('HGET', key, 'rt') or '') .. requestTokens .. ' ')
end
if anchor ~= '' then
  local total = redis.call('HMGET', c, 'ht', 'hb')
  redis.call('HSET', c, 'anchor', table.concat({ to, anchor, anchorVersion, total[1], total[2] }, ' '))
end
local lease = now + leaseMs
redis.call('HSET', c, 'lease', string.format('%.0f', lease), 'attempts', 0)
look_again(turn_member, lease)

-- What the turn waited for is told to every claim until it is used: its step recorded and none of its calls open.
local wait = redis.call('HMGET', key, 'wstep', 'wcalls')
local is_used = wait[1] and is_done(wait[1])
if is_used then
  local is_awaited = {}
  for _, call in ipairs(cjson.decode(wait[2])) do is_awaited[call] = true end
  for _, call in ipairs(read_open_calls()) do is_used = is_used and not is_awaited[call.id] end
end
if is_used then redis.call('HDEL', key, 'wfor', 'wstep', 'wuntil', 'wcalls', 'wful') end
return { 'recorded', redis.call('HGETALL', c) }
