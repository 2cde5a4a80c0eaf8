-- The line of waiters before a gate. `waiters` has them by arrival, `due` by the time at which they come back.
-- `present` has those that wait in a worker, by arrival. The turns of absent waiters are suspended. Absent waiters keep
-- their places, and do not delay those that are present. `calls`: calls in progress. The calling script names these
-- keys, and itself as `waiter`.
-- @include gate

-- LATE_MS: an absent waiter that is so late loses its place, because its turn may be canceled. GONE_MS: a present
-- waiter that is so late counts as absent, because its worker may be dead.
local LATE_MS, GONE_MS = 10000, 1000
local LEAST_WAIT_MS, LEAST_AWAY_MS = 20, 500
-- A waiter is sent away for this fraction of the expected wait, because the rate may grow. The waiter comes back
-- earlier by the time of EARLY_CALLS calls, at most EARLY_MS, because a sweep may be a second late.
local AWAY, EARLY_MS, EARLY_CALLS = 0.75, 1000, 2
-- All waiters together come back at most 200 times a second. Each comes back within 30 s, or within 20 ms for each
-- waiter if that is longer.
local SPACING_MS, LONGEST_AWAY_MS, LONGEST_SPACING_MS = 5, 30000, 20
-- ms in which a rate that doubles each second grows by the factor e (1000 / ln 2).
local DOUBLING_MS = 1443

local function leave_line(member)
  for _, line in ipairs({ waiters, due, present }) do redis.call('ZREM', line, member) end
end

-- Adds the waiter to the line. Returns how many waiters are ahead, and how many of them are present.
local function join_line()
  redis.call('ZADD', due, now, waiter)
  for _, late in ipairs(redis.call('ZRANGE', due, '-inf', now - LATE_MS, 'BYSCORE', 'LIMIT', 0, 100)) do leave_line(late) end
  redis.call('ZADD', waiters, 'NX', now, waiter)
  redis.call('ZADD', present, redis.call('ZSCORE', waiters, waiter), waiter)
  local ahead = 0
  for _, other in ipairs(redis.call('ZRANGE', present, 0, 50)) do
    if other == waiter then break end
    local is_gone = tonumber(redis.call('ZSCORE', due, other) or 0) < now - GONE_MS
    if is_gone then redis.call('ZREM', present, other) else ahead = ahead + 1 end
  end
  return redis.call('ZRANK', waiters, waiter), ahead
end

local function wait_for(ms)
  ms = math.ceil(ms)
  redis.call('ZADD', due, now + ms, waiter)
  redis.call('ZREMRANGEBYSCORE', gates, '-inf', now)
  redis.call('ZADD', gates, now + ms + idleMs, name)
  for _, key in ipairs({ gate, waiters, due, present, gates }) do keep(key, ms + idleMs) end
  return ms
end

-- Makes the waiter absent. `expected`: ms from the end of the pause until the waiter may pass, at the present rate.
local function send_away(state, paused_ms, expected, rate)
  redis.call('ZREM', present, waiter)
  -- If the rate doubles each second, the waiter may pass sooner than expected.
  local is_growing = state.rate == rate and rate > FAR * (state.ceiling or 0)
  local soonest = is_growing and DOUBLING_MS * math.log(1 + expected / DOUBLING_MS) or expected * AWAY
  local longest = math.max(LONGEST_AWAY_MS, redis.call('ZCARD', waiters) * LONGEST_SPACING_MS)
  local spaced = redis.call('ZRANK', waiters, waiter) * SPACING_MS
  local away = math.max(spaced, math.min(soonest, longest)) - math.min(EARLY_MS, EARLY_CALLS / rate)
  return wait_for(math.max(LEAST_AWAY_MS, paused_ms + away))
end
