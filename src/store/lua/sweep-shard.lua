-- Claims a shard for claimMs and returns its due entries: turns, passes and scheduled turns that the sweeper must
-- check. Each entry becomes due again after 1 s, in case the sweeper dies before it adds the wakes. That time doubles
-- up to 60 s, until a worker claims the entry. With 5 s instead of 1 s, the turns of a killed worker took 13.2 s to
-- continue (p99 of 1,815). A full Redis refuses this script, so due entries keep their times. No wake could be added
-- then anyway, and sweep-idle runs instead. Ended passes are removed from the open passes. Members and records that
-- cannot be read are quarantined one by one (I12). A repeated call returns nothing, because the entries are due only
-- later.
-- KEYS: claim of the shard, ready, idle, open passes, failed. ARGV: limit, prefix of the shard's keys, claimMs
-- Reply: {members of ready, longest due first, then a few of idle, because an erase may wait behind turns},
-- {quarantined: set, member, reason}
-- @include clock
local claim, ready, idle, open_passes, failed = unpack(KEYS)
local shard = ARGV[2]
-- @include set-members
-- @include quarantine
-- @include sweep
local FIRST_PUSH_MS, LAST_PUSH_MS = 1000, 60000
local MOST_CHECKED = 10
-- Record, by kind of entry, whose field `sweeps` counts how often sweeps returned the entry. A claim resets the count.
local RECORDS = { t = 'c', p = 'pass', d = 't' }
if not claim_shard(claim, ARGV[3]) then return { {}, {} } end
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
    -- An error other than these two kinds (wrong type, not an integer) does not come from a corrupt record. It fails
    -- the sweep.
    if not has_other_type and not string.find(pushes.err, 'integer') and not string.find(pushes.err, 'overflow') then
      error(pushes, 0)
    end
    -- For a pass, the sweeper later quarantines the whole record, because workers can create a pass again.
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

for _, member in ipairs(redis.call('ZRANGEBYSCORE', ready, '-inf', now, 'LIMIT', 0, ARGV[1])) do push(member) end
take_idle(idle, due)

-- No worker reads the set `failed`. So each sweep checks some of its members for unknown forms. The time decides where the check starts.
local start = now % math.max(redis.call('ZCARD', failed), 1)
for _, member in ipairs(redis.call('ZRANGE', failed, start, start + MOST_CHECKED - 1)) do
  if not read_member('failed', member) then quarantine_member('failed', member, 'the entry names no turn, pass or conversation') end
end
-- A pass in progress always has an entry in `ready` (I6). A pass without an entry has ended.
for _, member in ipairs(redis.call('ZRANGE', open_passes, 0, MOST_CHECKED - 1)) do
  if not read_member('passes', member) then
    quarantine_member('passes', member, 'the entry names no turn, pass or conversation')
  elseif not redis.call('ZSCORE', ready, member) then
    redis.call('ZREM', open_passes, member)
  end
end
return { due, set_aside }
