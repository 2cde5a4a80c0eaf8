#!lua flags=allow-oom
-- Reports the end of a call that passed a gate. A refusal pauses the gate and lowers its rate, an answer raises the rate.
-- KEYS: gate, waiters by arrival, waiters by the time when they are due, calls in progress, all gates
-- ARGV: name of the gate, waiter, ms that an idle gate is kept, outcome, ms since the call began, ms after which the provider
-- allows a call or ''
-- Reply: ms after which a refused caller asks again, otherwise 0
-- @include clock
local gate, waiters, due, calls, gates = unpack(KEYS)
local name, waiter, idle_ms = ARGV[1], ARGV[2], tonumber(ARGV[3])
local outcome, call_ms, asked = ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[6])
-- @include gate
redis.call('ZREM', calls, waiter)
local state = read_gate()
-- Only calls that began after the last pause say something about the rate.
local is_news = now - call_ms > math.max(state.cut, state.paused)

if outcome == 'answered' then
  if not state.rate or not is_news then return 0 end
  local growth = START_GROWTH
  if state.ceiling then
    local share = state.rate / state.ceiling
    growth = (share < NEAR or share > FAR) and GROWTH or SLOW_GROWTH
  end
  state.rate, state.refusals = state.rate * growth, 0
  state.won, state.wonAt = won_rate(state) + 1 / MEMORY_MS, now
  write_gate(state)
  return 0
end
if outcome ~= 'limited' then return 0 end

-- A refusal right after another one says that the provider still answers no call. It lengthens the pause and not the way back.
if is_news and state.refusals == 0 then
  local won = won_rate(state)
  state.ceiling = state.rate and math.min(state.rate, math.max(won / NEAR, LEAST_RATE))
  state.rate = state.rate and math.max(LEAST_RATE, math.min(state.rate * CUT, won)) or START_RATE
end
if is_news then state.refusals, state.cut = state.refusals + 1, now end
-- Without a time from the provider, and for refusals in a row, the pauses grow.
local backoff = math.min(LONGEST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ^ (state.refusals - 1))
local pause = asked and state.refusals <= 1 and asked or math.max(asked or 0, backoff)
state.paused = math.max(state.paused, now + math.min(pause, LONGEST_PAUSE_MS))
-- One call tries the provider at the end of the pause.
state.level, state.at = 1, state.paused
write_gate(state)
redis.call('ZADD', waiters, 'NX', now, waiter)
local paused_ms = state.paused - now
return hold(paused_ms + time_for(redis.call('ZRANK', waiters, waiter), state.rate), paused_ms)
