-- The pause and the rate that all workers share for one model. A call takes one from a bucket of calls, and its tokens
-- from a bucket of tokens. `level` and `tokens` are the contents of the buckets at `levelAt` and `tokensAt`. A missing
-- level is a full bucket. Rates are per ms. `rate`: what the provider accepts. `ceiling`: the rate at which it last
-- refused a call. `paused`: end of the last pause. `opened`: time of the first call after it, a probe. `refusals`:
-- refused probes in a row. `lag`, `length`: mean ms of a refusal and of a call. The calling script names the key
-- `gate`.
-- @include clock

local BURST_MS = 1000
-- Fractions of the ceiling between which the rate grows slowly.
local NEAR, FAR = 0.9, 1.2
local FIELDS = { 'rate', 'ceiling', 'level', 'levelAt', 'tokens', 'tokensAt', 'paused', 'opened', 'refusals', 'lag', 'length' }

local function read_gate()
  local state, values = {}, redis.call('HMGET', gate, unpack(FIELDS))
  for at, field in ipairs(FIELDS) do state[field] = tonumber(values[at] or '') end
  for _, field in ipairs({ 'levelAt', 'tokensAt', 'paused', 'opened', 'refusals', 'lag' }) do state[field] = state[field] or 0 end
  return state
end

local function keep(key, ms)
  if redis.call('PTTL', key) < ms then redis.call('PEXPIRE', key, math.ceil(ms)) end
end

local function write_gate(state, ms)
  local written = {}
  for _, field in ipairs(FIELDS) do
    if state[field] then
      written[#written + 1], written[#written + 2] = field, string.format('%.17g', state[field])
    end
  end
  redis.call('HSET', gate, unpack(written))
  keep(gate, ms)
end

local function rate_of(per_minute)
  return tonumber(per_minute) > 0 and tonumber(per_minute) / 60000 or math.huge
end

-- Returns the size of a bucket. After a rest, the calls or tokens of a second pass at once, and at least one.
local function most_of(rate)
  return math.max(1, rate * BURST_MS)
end

local function fill(level, at, rate)
  if not level or rate == math.huge then return most_of(rate) end
  return math.min(most_of(rate), level + math.max(now - at, 0) * rate)
end

local function time_for(missing, rate)
  return rate < math.huge and math.max(missing, 0) / rate or 0
end
