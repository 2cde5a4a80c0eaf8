#!lua flags=allow-oom
-- Asks to pass the gate of a model (the pause and rate that all workers share for this model). Waiters pass in the
-- order of arrival. The learned rate grows with each call that passes, and not with each answer: a refusal comes at
-- once, while an answer may take minutes.
-- `idleMs`: ms that an idle gate is kept. Limits are 0 if there is none. `placeMs`: ms that a call keeps its place
-- without a renewal. `patienceMs`: ms that the caller can wait here. shared/gate-line.lua explains the keys.
-- Reply: 'open' | 'passed' | ms to wait. A caller that cannot wait that long is absent until then
-- @keys gate, waiters, due, present, calls, gates
-- @args name, waiter, idleMs, tokens, requestsPerMinute, tokensPerMinute, concurrent, placeMs, patienceMs
-- @include gate-line
-- Assumed ms of a call until one has ended, and bounds of the time between two looks for a free place.
local CALL_MS, LOOK_MS, LONGEST_LOOK_MS = 200, 250, 5000
-- Factors by which the rate grows: in LEAST_GROWTH_MS, at most with one call, and near the last refused rate. If a
-- refusal takes long, the growth takes LAGS times as long as a refusal.
local GROWTH, CALL_GROWTH, SLOW_GROWTH, LEAST_GROWTH_MS, LAGS = 2, 1.3, 1.02, 1000, 2
local state = read_gate()
tokens, concurrent, patienceMs = tonumber(tokens), tonumber(concurrent), tonumber(patienceMs)
local rate, tokens_rate = math.min(state.rate or math.huge, rate_of(requestsPerMinute)), rate_of(tokensPerMinute)
if rate == math.huge and tokens_rate == math.huge and concurrent == 0 then
  redis.call('ZREM', gates, name)
  return 'open'
end

local level, tokens_level = fill(state.level, state.levelAt, rate), fill(state.tokens, state.tokensAt, tokens_rate)
-- If a request has more tokens than the bucket holds, the request passes when the bucket is full, and leaves a debt.
local needed = math.min(tokens, most_of(tokens_rate))
redis.call('ZREMRANGEBYSCORE', calls, '-inf', now)
local free = concurrent > 0 and concurrent - redis.call('ZCARD', calls) or math.huge
local rank, ahead = join_line()

-- Raises the rate, but only while calls keep the bucket at most about half full. The first call after a pause, which is
-- a probe, does not raise the rate.
local function grow()
  local since = now - state.levelAt
  local unspent = (state.level or 0) + since * rate - most_of(rate) / 2
  if not state.rate or state.rate > rate or unspent > 1.5 then return end
  local ceiling = state.ceiling or math.huge
  local is_near = state.rate >= ceiling * NEAR and state.rate <= ceiling * FAR
  local grown = state.rate * math.min(CALL_GROWTH, (is_near and SLOW_GROWTH or GROWTH) ^ (since / math.max(LEAST_GROWTH_MS, LAGS * state.lag)))
  state.rate = state.rate < ceiling * NEAR and math.min(grown, ceiling * NEAR) or grown
end

if state.paused <= now and level >= 1 + ahead and free > ahead and tokens_level >= needed * (1 + ahead) then
  leave_line(waiter)
  if concurrent > 0 then
    redis.call('ZADD', calls, now + placeMs, waiter)
    keep(calls, tonumber(placeMs))
  end
  if state.opened < state.paused then state.opened = now else grow() end
  if rate < math.huge then state.level, state.levelAt = level - 1, now end
  if tokens_rate < math.huge then state.tokens, state.tokensAt = tokens_level - tokens, now end
  write_gate(state, BURST_MS + math.max(time_for(1, rate), time_for(-(state.tokens or 0), tokens_rate)))
  return 'passed'
end

-- Returns the ms until the line has moved up to this place. The first waiter in line looks from time to time if a call
-- has ended.
local length = state.length or CALL_MS
local look_ms = state.length and math.min(length / 10, LONGEST_LOOK_MS) or LOOK_MS
local function time_until(place)
  local busy = place > free and math.max((place - free - 1) * length / concurrent, look_ms) or 0
  return math.max(time_for(place - level, rate), time_for(needed * place - tokens_level, tokens_rate), busy)
end
local paused_ms = math.max(state.paused - now, 0)
-- If the caller waits in its worker, only waiters that come back during this wait are ahead of the caller.
local wait = paused_ms + time_until(math.min(rank, redis.call('ZCOUNT', due, '-inf', now + patienceMs) - 1) + 1)
if wait <= patienceMs then return wait_for(math.max(wait, LEAST_WAIT_MS)) end
return send_away(state, paused_ms, time_until(rank + 1), rate)
