#!lua flags=allow-oom
-- Reports the end of a call that passed a gate, or gives up the place of a waiter. A refusal by a rate limit pauses the
-- gate. The first of several such refusals in a row also lowers the rate of the gate. An answer that used up the
-- account's calls also pauses the gate. Another refusal ('refused') delays only its own caller.
-- `idleMs`: ms that an idle gate is kept. `callMs`: ms since the call began. `retryAfterMs`: ms after which the
-- provider allows a call. shared/gate-line.lua explains the keys.
-- Reply: ms after which a refused caller asks again, otherwise 0
-- @keys gate, waiters, due, present, calls, gates
-- @args name, waiter, idleMs, outcome, callMs, retryAfterMs
-- @include gate-line
-- A gate starts with a rate of one call a second.
local START_RATE, LEAST_RATE, CUT = 1 / 1000, 1 / 20000, 0.8
-- If the provider names no time, the pause lasts as long as PAUSE_CALLS calls at the rate take, at most PAUSE_MS. The
-- pause doubles with each refused probe.
local PAUSE_CALLS, PAUSE_MS, LONGEST_BACKOFF_MS, LONGEST_PAUSE_MS = 4, 1000, 30000, 3600000
-- A probe tests if the provider accepts calls again. Calls that began within PROBE_MS after the first call behind a
-- pause are probes, too.
local PROBE_MS = 200
-- Refused callers are placed before waiters that made no call yet.
local PRECEDENCE_MS = 3600000

local function pause_until(state, time)
  -- One call passes at the end of the pause, and the bucket fills from then on.
  if time > state.paused then state.paused, state.level, state.levelAt = time, 1, time end
end

local call_ms, asked = tonumber(callMs), tonumber(retryAfterMs)
local was_counted = redis.call('ZREM', calls, waiter) == 1
if outcome == 'left' then
  leave_line(waiter)
  return 0
end
local state = read_gate()
if outcome == 'answered' or outcome == 'failed' then
  if outcome == 'answered' then state.refusals = 0 end
  if was_counted then state.length = ((state.length or call_ms) + call_ms) / 2 end
  if asked then
    asked = math.min(asked, LONGEST_PAUSE_MS)
    state.rate = state.rate or math.max(START_RATE, 1 / asked)
    pause_until(state, now + asked)
    redis.call('ZADD', gates, 'GT', now + asked + idleMs, name)
    keep(gates, asked + idleMs)
  end
  if was_counted or state.rate then write_gate(state, asked and asked + idleMs or was_counted and tonumber(idleMs) or 0) end
  return 0
end

local began, pause = now - call_ms, asked or 0
-- If the call began before the end of the last pause, its refusal says nothing new about the rate.
local is_news = outcome == 'limited' and (not state.rate or began >= state.paused)
if is_news then
  state.lag = math.max(call_ms, state.lag / 2)
  if not state.rate then
    state.rate, state.refusals = START_RATE, 1
  elseif state.opened >= state.paused and began <= state.opened + PROBE_MS then
    state.refusals = state.refusals + 1
  else
    state.ceiling, state.rate, state.refusals = state.rate, math.max(LEAST_RATE, state.rate * CUT), 1
  end
  local backoff = math.min(LONGEST_BACKOFF_MS, math.min(PAUSE_MS, PAUSE_CALLS / state.rate) * 2 ^ (state.refusals - 1))
  if not asked or state.refusals > 1 then pause = math.max(pause, backoff) end
end
local paused = now + math.min(pause, LONGEST_PAUSE_MS)
if is_news or pause > 0 then pause_until(state, paused) end
write_gate(state, tonumber(idleMs))
redis.call('ZADD', waiters, 'NX', began - PRECEDENCE_MS, waiter)
local rank, rate = redis.call('ZRANK', waiters, waiter), state.rate or math.huge
return send_away(state, math.max(state.paused - now, 0), time_for(rank, rate), rate)
