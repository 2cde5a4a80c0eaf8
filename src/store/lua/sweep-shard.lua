-- Claims a shard and returns its due entries: turns, passes and scheduled turns for the sweeper to check. An entry is
-- due again after 1 s, in case the sweeper dies before it adds the wakes. That time doubles up to 60 s, until a worker
-- claims the entry. With 5 s instead of 1 s, the turns of a killed worker took 13.2 s to continue (p99 of 1,815). A
-- full Redis refuses this script, so due entries keep their times, and sweep-idle runs instead. Unreadable members and
-- records are quarantined one by one (I12).
-- Reply: {members of ready, longest due first, then a few of idle, because an erase may wait behind turns},
-- {quarantined: set, member, reason}
-- @keys claim, ready, idle, openPasses, failed
-- @args limit, shard, claimMs
-- @include sweep
local FIRST_PUSH_MS, LAST_PUSH_MS = 1000, 60000
local MOST_CHECKED = 10
-- For each kind of entry, the record whose field `sweeps` counts the sweeps since the last claim.
local RECORDS = { t = 'c', p = 'pass', d = 't' }
if not claim_shard(claim, claimMs) then return { {}, {} } end
free_sets()
local due = {}

local function push(member)
  local kind, tenant, name = read_member('ready', member)
  if not kind then return quarantine_member('ready', member, 'the entry names no turn, pass or conversation') end
  local record = shard .. tenant .. ':' .. RECORDS[kind] .. ':' .. (string.gsub(name, '|', ':'))
  if redis.call('EXISTS', record) == 0 then return redis.call('ZREM', ready, member) end
  local pushes = redis.pcall('HINCRBY', record, 'sweeps', 1)
  if type(pushes) ~= 'number' then
    local has_other_type = string.find(pushes.err, 'WRONGTYPE', 1, true)
    -- An error other than these two (wrong type, not an integer) is not caused by a corrupt record, and fails the
    -- sweep.
    if not has_other_type and not string.find(pushes.err, 'integer') and not string.find(pushes.err, 'overflow') then
      error(pushes, 0)
    end
    -- The sweeper quarantines the whole record of a pass, because workers can create a pass again.
    if kind ~= 'p' then
      local field = has_other_type and '' or 'sweeps'
      return quarantine_member('ready', member, 'corrupt ' .. record .. ' ' .. field)
    end
    pushes = 1
  end
  local push_ms = math.min(FIRST_PUSH_MS * 2 ^ (pushes - 1), LAST_PUSH_MS)
  redis.call('ZADD', ready, string.format('%.0f', now + push_ms), member)
  due[#due + 1] = member
end

for _, member in ipairs(redis.call('ZRANGEBYSCORE', ready, '-inf', now, 'LIMIT', 0, limit)) do push(member) end
take_idle(idle, due)

-- No worker reads `failed`. So each sweep checks some of its members, from a place that depends on the time.
local start = now % math.max(redis.call('ZCARD', failed), 1)
for _, member in ipairs(redis.call('ZRANGE', failed, start, start + MOST_CHECKED - 1)) do
  if not read_member('failed', member) then quarantine_member('failed', member, 'the entry names no turn, pass or conversation') end
end
-- A pass without an entry in `ready` has ended (I6).
for _, member in ipairs(redis.call('ZRANGE', openPasses, 0, MOST_CHECKED - 1)) do
  if not read_member('passes', member) then
    quarantine_member('passes', member, 'the entry names no turn, pass or conversation')
  elseif not redis.call('ZSCORE', ready, member) then
    redis.call('ZREM', openPasses, member)
  end
end
return { due, set_aside }
