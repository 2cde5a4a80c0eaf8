-- Claims a shard for a while and answers its due entries, each pushed out: 1 s, doubling to 60 s until somebody claims it.
-- A sweeper that dies between this and its wakes costs what it had taken that push: with a first one of 5 s the turns of a
-- killed worker took 13.2 s to go on (p99 of 1,815).
-- A full Redis refuses it, and what is due keeps its time: nothing could be woken. sweep-resting runs then.
-- Passes that have ended and are listed as open are taken out of that list.
-- Sent again it answers nothing: what was due comes up again after its push.
-- KEYS: claim of the shard, ready, resting, open passes. ARGV: limit, what the shard's keys begin with, claimMs
-- Reply: members of ready, longest due first; then those of resting, few, for an erase may wait behind turns
-- @include clock
-- @include take-resting
local claim, ready, resting, open_passes = unpack(KEYS)
local FIRST_PUSH_MS, LAST_PUSH_MS = 1000, 60000
local MOST_LOOKED_AT = 10
-- Where the pushes of an entry are counted: the record that its claim resets.
local RECORDS = { t = 'c', p = 'pass', d = 't' }
if not redis.call('SET', claim, 1, 'NX', 'PX', ARGV[3]) then return {} end
local due = {}
for _, member in ipairs(redis.call('ZRANGEBYSCORE', ready, '-inf', now, 'LIMIT', 0, ARGV[1])) do
  local kind, tenant, name = string.match(member, '^(%a)|([^|]+)|(.+)$')
  local record = ARGV[2] .. tenant .. ':' .. RECORDS[kind] .. ':' .. (string.gsub(name, '|', ':'))
  if redis.call('EXISTS', record) == 0 then
    redis.call('ZREM', ready, member)
  else
    local pushes = redis.call('HINCRBY', record, 'sweeps', 1)
    local push = math.min(FIRST_PUSH_MS * 2 ^ (pushes - 1), LAST_PUSH_MS)
    redis.call('ZADD', ready, string.format('%.0f', now + push), member)
    due[#due + 1] = member
  end
end
take_resting(resting, due)
-- A worker of before this set ends a pass and leaves it in here. By I6 a pass that has not ended has its ready entry.
for _, member in ipairs(redis.call('ZRANGE', open_passes, 0, MOST_LOOKED_AT - 1)) do
  if not redis.call('ZSCORE', ready, member) then redis.call('ZREM', open_passes, member) end
end
return due
