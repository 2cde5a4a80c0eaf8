-- @include ready
-- @include record

-- Returns nil if the caller owns the compaction pass (I4), or why not: `gone` after an erase, `superseded` if a restore
-- ended the pass or a turn took it over, `unclaimed` if the database lost the conversation, else `fenced`. Only the
-- last owner that was superseded is known.
local function find_pass_loss(passId, owner)
  if redis.call('EXISTS', gone) == 1 then return 'gone' end
  local present_pass, present_owner = unpack(redis.call('HMGET', pass, 'passId', 'owner'))
  if present_pass == passId and present_owner == owner then return nil end
  local superseded = redis.call('HGET', c, 'superseded')
  if superseded then return superseded == owner and 'superseded' or 'fenced' end
  return redis.call('EXISTS', c) == 0 and 'unclaimed' or 'fenced'
end

-- Records the owner that loses the pass, or that parked it. Later writes of that owner are superseded.
local function supersede_owner()
  local owner, parked_by = unpack(redis.call('HMGET', pass, 'owner', 'parkedBy'))
  if owner or parked_by then put(record, 'superseded', owner or parked_by) end
end

-- True if reasons were added after the owner read them. The pass must not end then, because callers wait for it. `seen`
-- is '*' for a pass that may end with any reasons.
local function has_new_reasons(seen)
  return seen ~= '*' and redis.call('HGET', pass, 'reasons') ~= seen
end

-- True if the owner gave the pass back to `parked` (nil: to any job), and no other worker has claimed the pass since. A
-- repeated call then gets the reply of its first attempt.
local function has_given_back(passId, owner, parked)
  local present_pass, present_owner, present_parked, parked_by =
    unpack(redis.call('HMGET', pass, 'passId', 'owner', 'parked', 'parkedBy'))
  local is_free = present_pass == passId and not present_owner and parked_by == owner
  return is_free and (present_parked or nil) == parked
end

-- Gives the pass a lease, at whose end the pass is due again (I6).
local function lease_pass(owner, leaseMs)
  local lease = now + tonumber(leaseMs)
  redis.call('HSET', pass, 'owner', owner, 'lease', string.format('%.0f', lease))
  schedule(pass_member, lease)
end

local function claimed_pass()
  return { 'claimed', redis.call('HGETALL', pass), redis.call('HGETALL', c) }
end
