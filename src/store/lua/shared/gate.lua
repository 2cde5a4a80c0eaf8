-- Requires: clock, and the keys and names of a gate. Defines: the state of a gate, and how to hold a caller.
-- Rates are calls a ms. A gate spends a bucket of calls, which fills at its rate.

-- Calls that a gate may let through at once, as time. Due turns are woken about once a second.
local BURST_MS = 1000
-- Time after which a waiter that did not come back loses its place.
local LATE_MS = 15000
local BUSY_MS = 1000
-- A gate begins at one call a second and doubles every three answers. A refusal shows a ceiling: the gate comes near it fast,
-- passes it slowly, and grows fast again once it is far above it.
local START_RATE, LEAST_RATE, CUT, NEAR, FAR = 1 / 1000, 1 / 2000, 0.7, 0.9, 1.2
local START_GROWTH, GROWTH, SLOW_GROWTH = 1.2, 1.15, 1.03
local FIRST_BACKOFF_MS, LONGEST_BACKOFF_MS, LONGEST_PAUSE_MS = 1000, 30000, 3600000
-- A caller comes back this long before its turn, because a sweep wakes it up to a second late. A caller far behind comes back
-- even earlier, because the rate may have grown meanwhile. All who wait come back at most 25 times a second together.
local EARLY_MS, SOON_MS, SPACING_MS, LEAST_WAIT_MS = 1000, 4000, 40, 20
-- Weight of the last answers in the rate of answers.
local MEMORY_MS = 1000

local function rate_of(per_minute)
  return tonumber(per_minute) > 0 and tonumber(per_minute) / 60000 or math.huge
end

local FIELDS = { 'rate', 'ceiling', 'level', 'tokens', 'at', 'paused', 'refusals', 'cut', 'won', 'wonAt' }

local function read_gate()
  local state, values = {}, redis.call('HMGET', gate, unpack(FIELDS))
  for at, field in ipairs(FIELDS) do state[field] = tonumber(values[at] or '') end
  for _, field in ipairs({ 'at', 'paused', 'refusals', 'cut', 'won', 'wonAt' }) do state[field] = state[field] or 0 end
  return state
end

local function write_gate(state)
  for _, field in ipairs(FIELDS) do
    if state[field] then redis.call('HSET', gate, field, string.format('%.17g', state[field])) end
  end
end

-- Rate of answers in the last seconds.
local function won_rate(state)
  return state.won * math.exp((state.wonAt - now) / MEMORY_MS)
end

-- Level of a bucket now. A bucket without a level is full.
local function fill(level, at, rate)
  local most = math.max(1, rate * BURST_MS)
  if not level or rate == math.huge then return most end
  return math.min(most, level + math.max(now - at, 0) * rate)
end

local function time_for(missing, rate)
  return rate < math.huge and math.max(missing, 0) / rate or 0
end

-- Keeps keys for at least this time from now.
local function keep(keys, ms)
  for _, key in ipairs(keys) do
    if redis.call('PTTL', key) < ms then redis.call('PEXPIRE', key, math.ceil(ms)) end
  end
end

-- Writes when the waiter is due, which is not before the end of the pause, and returns the ms until then.
local function hold(wait, paused_ms)
  if wait > EARLY_MS then
    wait = math.min(math.max(EARLY_MS, wait - EARLY_MS), math.max(SOON_MS, redis.call('ZCARD', waiters) * SPACING_MS))
  end
  wait = math.ceil(math.max(wait, paused_ms, LEAST_WAIT_MS))
  redis.call('ZADD', due, now + wait, waiter)
  redis.call('ZADD', gates, now + wait + idle_ms, name)
  keep({ gate, waiters, due, gates }, wait + idle_ms)
  return wait
end
