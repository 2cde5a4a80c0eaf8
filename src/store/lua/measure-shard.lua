-- Counts what is overdue, open, failed or quarantined in a shard. Writes nothing, because `doctor` calls it, too. A set
-- of the wrong type counts as empty.
-- `limit`: most entries that are counted by kind.
-- Reply: {overdue turns, passes, scheduled turns, age of the oldest in ms, open passes, age of the oldest in ms, failed
-- turns, overdue idle conversations, age of the oldest in ms, quarantined records}
-- @keys ready, openPasses, failed, idle, quarantined
-- @args limit, retentionMs
-- @include clock
local before = '(' .. string.format('%.0f', now)
local MOST_MS = 9007199254740991

local function call_or(default, ...)
  local answer = redis.pcall(...)
  return type(answer) == 'table' and answer.err and default or answer
end

local overdue = { t = 0, p = 0, d = 0 }
for _, member in ipairs(call_or({}, 'ZRANGEBYSCORE', ready, '-inf', before, 'LIMIT', 0, limit)) do
  local kind = string.sub(member, 1, 1)
  if overdue[kind] then overdue[kind] = overdue[kind] + 1 end
end

local function age(score)
  return math.min(math.max(0, now - score), MOST_MS)
end

local function age_of_first(key)
  local first = call_or({}, 'ZRANGE', key, 0, 0, 'WITHSCORES')
  return first[2] and age(first[2]) or 0
end

-- A pass in progress has an entry in `ready` (I6). A pass without such an entry has ended, and the next sweep removes
-- it.
local open, oldest_open = call_or(0, 'ZCARD', openPasses), 0
local passes = call_or({}, 'ZRANGE', openPasses, 0, limit - 1, 'WITHSCORES')
for at = 1, #passes, 2 do
  if not call_or(false, 'ZSCORE', ready, passes[at]) then
    open = open - 1
  elseif oldest_open == 0 then
    oldest_open = age(passes[at + 1])
  end
end
return {
  overdue.t, overdue.p, overdue.d, age_of_first(ready),
  open, oldest_open,
  call_or(0, 'ZCOUNT', failed, string.format('%.0f', now - tonumber(retentionMs)), '+inf'),
  call_or(0, 'ZCOUNT', idle, '-inf', before), age_of_first(idle),
  call_or(0, 'HLEN', quarantined),
}
