-- Claims a shard for a while and answers its due entries, each pushed out: 1 s, doubling to 60 s until somebody claims it.
-- A sweeper that dies between this and its wakes costs what it had taken that push: with a first one of 5 s the turns of a
-- killed worker took 13.2 s to go on (p99 of 1,815).
-- A full Redis refuses it, and what is due keeps its time: nothing could be woken. sweep-idle runs then.
-- Passes that have ended and are listed as open are taken out of that list.
-- A member or a record that cannot be read is set aside alone; the others go on (I12).
-- Sent again it answers nothing: what was due comes up again after its push.
-- KEYS: claim of the shard, ready, idle, open passes, failed. ARGV: limit, what the shard's keys begin with, claimMs
-- Reply: {members of ready, longest due first; then those of idle, few, for an erase may wait behind turns},
-- {what was set aside: set, member, why}
-- @include clock
-- @include claim-shard
local claim, ready, idle, open_passes, failed = unpack(KEYS)
local shard = ARGV[2]
-- @include members
-- @include quarantine
-- @include take-idle
local FIRST_PUSH_MS, LAST_PUSH_MS = 1000, 60000
local MOST_LOOKED_AT = 10
-- Where the pushes of an entry are counted: the record that its claim resets.
local RECORDS = { t = 'c', p = 'pass', d = 't' }
if not claim_shard(claim, ARGV[3]) then return { {}, {} } end
free_sets()
local due = {}

local function push(member)
  local kind, tenant, name = read_member('ready', member)
  if not kind then return quarantine_member('ready', member, 'unknown member') end
  local record = shard .. tenant .. ':' .. RECORDS[kind] .. ':' .. (string.gsub(name, '|', ':'))
  if redis.call('EXISTS', record) == 0 then return redis.call('ZREM', ready, member) end
  local pushes = redis.pcall('HINCRBY', record, 'sweeps', 1)
  if type(pushes) ~= 'number' then
    local has_other_type = string.find(pushes.err, 'WRONGTYPE', 1, true)
    -- Anything else is no fault of the record, and fails the sweep.
    if not has_other_type and not string.find(pushes.err, 'integer') and not string.find(pushes.err, 'overflow') then
      error(pushes, 0)
    end
    -- Whoever looks after a pass sets its whole record aside: workers can create a pass again.
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

-- Nobody takes from this set, so some of its members are looked at, others each time.
local start = math.floor(now / 1000) * MOST_LOOKED_AT % math.max(redis.call('ZCARD', failed), 1)
for _, member in ipairs(redis.call('ZRANGE', failed, start, start + MOST_LOOKED_AT - 1)) do
  if not read_member('failed', member) then quarantine_member('failed', member, 'unknown member') end
end
-- A worker of before this set ends a pass and leaves it in here. By I6 a pass that has not ended has its ready entry.
for _, member in ipairs(redis.call('ZRANGE', open_passes, 0, MOST_LOOKED_AT - 1)) do
  if not read_member('passes', member) then
    quarantine_member('passes', member, 'unknown member')
  elseif not redis.call('ZSCORE', ready, member) then
    redis.call('ZREM', open_passes, member)
  end
end
return { due, set_aside }
