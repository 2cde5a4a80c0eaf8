#!lua flags=allow-oom
-- Extends the leases and claims on summaries of a worker whose event loop is blocked, in one shard. A lapsed lease is
-- extended, too, unless another worker has claimed the record. If the caller gives a cause, nothing is extended: the
-- cause is stored for the failure of a turn whose leases lapse again and again. Runs on a full Redis.
-- `owners`: beginning of the worker's owner ids. `claims`: beginning of its claims on summaries. `parkMs`: ms for which
-- a pass may wait for its summaries.
-- Reply: number of leases that were extended
-- @keys ready
-- @args shard, owners, claims, leaseMs, parkMs, cause
-- @include clock
-- @include set-members
-- @include worker-leases
local MOST_CHECKED = 10000
local count = 0

local function extend(member, kind, base, id)
  local record = base .. (kind == 't' and 'c:' or 'pass:') .. id
  if kind == 'p' and cause == '' then
    for _, claim in ipairs(find_claims(base, id, claims)) do redis.call('PEXPIRE', claim[1], leaseMs) end
  end
  local fields = redis.pcall('HMGET', record, 'owner', 'lease')
  if not starts_with(fields[1], owners) or not tonumber(fields[2] or '') then return end
  count = count + 1
  if cause ~= '' then
    if kind == 't' then redis.call('HSET', record, 'blocked', cause) end
    return
  end
  local lease = string.format('%.0f', now + leaseMs)
  redis.call('HSET', record, 'lease', lease)
  redis.call('ZADD', ready, lease, member)
end

local entries = redis.call('ZRANGEBYSCORE', ready, now - leaseMs, now + parkMs, 'WITHSCORES', 'LIMIT', 0, MOST_CHECKED)
for at = 1, #entries, 2 do
  local kind, tenant, id = read_member('ready', entries[at])
  -- A running turn is listed at the end of its lease, whereas a pass that waits for its summaries is listed later.
  local is_near = tonumber(entries[at + 1]) <= now + leaseMs
  if kind == 'p' or (kind == 't' and is_near) then extend(entries[at], kind, shard .. tenant .. ':', id) end
end
return count
