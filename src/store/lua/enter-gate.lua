#!lua flags=allow-oom
-- Asks to pass the gate of a model. A waiter keeps its place in the order of arrival. If it does not come back when it is due,
-- the places behind it move up.
-- KEYS: gate, waiters by arrival, waiters by the time when they are due, calls in progress, all gates
-- ARGV: name of the gate, waiter, ms that an idle gate is kept, tokens, limits a minute of requests and of tokens (0: none),
-- limit of calls at the same time (0: none), ms that a call keeps its place without a renewal
-- Reply: 'open' | 'passed' | ms to wait
-- @include clock
local gate, waiters, due, calls, gates = unpack(KEYS)
local name, waiter, idle_ms = ARGV[1], ARGV[2], tonumber(ARGV[3])
-- @include gate
local state = read_gate()
local tokens, concurrent, place_ms = tonumber(ARGV[4]), tonumber(ARGV[7]), tonumber(ARGV[8])
local rate = math.min(state.rate or math.huge, rate_of(ARGV[5]))
local tokens_rate = rate_of(ARGV[6])
if rate == math.huge and tokens_rate == math.huge and concurrent == 0 then return 'open' end

local level = fill(state.level, state.at, rate)
local tokens_level = fill(state.tokens, state.at, tokens_rate)
-- A request with more tokens than the bucket holds passes when the bucket is full, and leaves a debt.
local needed = math.min(tokens, tokens_rate * BURST_MS)
redis.call('ZREMRANGEBYSCORE', calls, '-inf', now)
local free = concurrent > 0 and concurrent - redis.call('ZCARD', calls) or math.huge

for _, late in ipairs(redis.call('ZRANGEBYSCORE', due, '-inf', now - LATE_MS, 'LIMIT', 0, 100)) do
  if late ~= waiter then redis.call('ZREM', waiters, late) redis.call('ZREM', due, late) end
end
redis.call('ZADD', waiters, 'NX', now, waiter)
redis.call('ZADD', due, now, waiter)
local rank = redis.call('ZRANK', waiters, waiter)
-- Only those ahead who are due compete for what is free now.
local ahead = 0
for _, other in ipairs(redis.call('ZRANGEBYSCORE', due, '-inf', now, 'LIMIT', 0, 100)) do
  if (redis.call('ZRANK', waiters, other) or math.huge) < rank then ahead = ahead + 1 end
end

if state.paused <= now and level >= 1 + ahead and free > ahead and tokens_level >= needed * (1 + ahead) then
  redis.call('ZREM', waiters, waiter)
  redis.call('ZREM', due, waiter)
  if concurrent > 0 then redis.call('ZADD', calls, now + place_ms, waiter) end
  if rate < math.huge then state.level = level - 1 end
  if tokens_rate < math.huge then state.tokens = tokens_level - tokens end
  state.at = math.max(now, state.at)
  write_gate(state)
  keep({ gate, calls }, idle_ms)
  return 'passed'
end

local place = rank + 1
local paused_ms = math.max(state.paused - now, 0)
local busy_ms = free < place and BUSY_MS or 0
local wait = paused_ms + math.max(time_for(place - level, rate), time_for(needed * place - tokens_level, tokens_rate), busy_ms)
return hold(wait, paused_ms)
