-- Requires: keys. Defines: find_pass_loss, supersede_owner, has_new_reasons, lease_pass, claimed_pass.

-- Checks that the caller still owns the compaction pass (I4). Returns:
-- nil to the owner,
-- 'gone' after an erase,
-- 'superseded' if a restore ended the pass, or a turn took the pass over. Only the last such owner is known.
-- 'fenced' if another owner claimed the pass after the lease, or the conversation was created again,
-- 'unclaimed' if the database lost the conversation.
local function find_pass_loss(passId, owner)
  if redis.call('EXISTS', gone) == 1 then return 'gone' end
  local present_pass, present_owner = unpack(redis.call('HMGET', pass, 'passId', 'owner'))
  if present_pass == passId and present_owner == owner then return nil end
  local superseded = redis.call('HGET', c, 'superseded')
  if superseded then return superseded == owner and 'superseded' or 'fenced' end
  return redis.call('EXISTS', c) == 0 and 'unclaimed' or 'fenced'
end

-- Records the present owner of the pass, or the owner that gave it back for its child jobs, before the pass is taken away.
-- Its later writes are refused as superseded.
local function supersede_owner()
  local owner, parked_by = unpack(redis.call('HMGET', pass, 'owner', 'parkedBy'))
  if owner or parked_by then put(record, 'superseded', owner or parked_by) end
end

-- True if reasons to compact were added after the owner of the pass read them. Then the pass must not end, because the
-- callers that added them wait for it. The value '*' accepts all reasons, because a pass may be requested without any.
local function has_new_reasons(seen)
  return seen ~= '*' and redis.call('HGET', pass, 'reasons') ~= seen
end

-- Leases the pass to an owner, and schedules the pass's entry in `ready` for the end of the lease (I6). Requires: ready.
local function lease_pass(owner, leaseMs)
  local lease = now + tonumber(leaseMs)
  redis.call('HSET', pass, 'owner', owner, 'lease', string.format('%.0f', lease))
  schedule(pass_member, lease)
end

local function claimed_pass()
  return { 'claimed', redis.call('HGETALL', pass), redis.call('HGETALL', c) }
end
