#!lua flags=allow-oom
-- Ends the leases of a dead worker in one shard. Owner and epoch stay. So if the worker is alive after all, it
-- continues or is fenced (I8). A pass that waits for its summary stops waiting. Each entry is due again after 1 s, in
-- case the sweeper dies before it adds the wakes. The script finds the leases in the set `ready`, so a running worker
-- writes nothing for this purpose. Runs on a full Redis.
-- `owners`: beginning of the worker's owner ids. `claims`: beginning of its claims on summaries.
-- Reply: {members of ready}
-- @keys ready
-- @args shard, owners, claims
-- @include clock
-- @include set-members
-- @include worker-leases
local PUSH_MS = 1000
-- Most members of `ready` that are checked. Leases come before the deadlines of most waiting turns. A lease that is not
-- found lapses at its own time.
local MOST_CHECKED = 10000
local due = {}

-- Removes the worker's claims on summaries. Returns true if there was a claim.
local function drop_claims(base, id)
  local found = find_claims(base, id, claims)
  for _, claim in ipairs(found) do
    redis.call('UNLINK', claim[1])
    redis.call('HDEL', base .. 'ix:' .. id, claim[2])
  end
  return #found > 0
end

-- Ends the lease of one record. Returns true if the record is due now. A sweep quarantines a record of the wrong type.
local function lapse(kind, base, id)
  local record = base .. (kind == 't' and 'c:' or 'pass:') .. id
  local fields = redis.pcall('HMGET', record, 'owner', 'lease', 'parkedUntil', 'alone')
  local owner, lease, parked_until, is_alone = unpack(fields)
  -- The turn runs alone in its process. The next claim may settle such a turn as poison, which requires a lease that
  -- lapsed by itself (I10).
  if is_alone then return false end
  local is_owned = starts_with(owner, owners)
  local field, untilMs = 'lease', tonumber(lease or '')
  if not is_owned and kind == 'p' then field, untilMs = 'parkedUntil', tonumber(parked_until or '') end
  local lasts = untilMs and untilMs > now
  local has_dropped = kind == 'p' and (is_owned or lasts) and drop_claims(base, id)
  if not lasts then return is_owned end
  if not is_owned and not has_dropped then return false end
  redis.call('HSET', record, field, string.format('%.0f', now))
  return true
end

for _, member in ipairs(redis.call('ZRANGE', ready, 0, MOST_CHECKED - 1)) do
  local kind, tenant, id = read_member('ready', member)
  if kind and kind ~= 'd' and lapse(kind, shard .. tenant .. ':', id) then
    redis.call('ZADD', ready, string.format('%.0f', now + PUSH_MS), member)
    due[#due + 1] = member
  end
end
return due
