-- Include first: keys. Checks and changes the owner of the pass.

-- Returns nil if the caller still owns the compaction pass (I4), or why not. gone: an erase. superseded: a restore
-- ended the pass, or a turn took it over. Only the last owner that lost a pass in this way is known. fenced: another
-- owner claimed the pass, or the conversation was created again. unclaimed: the database lost the conversation.
local function find_pass_loss(passId, owner)
  if redis.call('EXISTS', gone) == 1 then return 'gone' end
  local present_pass, present_owner = unpack(redis.call('HMGET', pass, 'passId', 'owner'))
  if present_pass == passId and present_owner == owner then return nil end
  local superseded = redis.call('HGET', c, 'superseded')
  if superseded then return superseded == owner and 'superseded' or 'fenced' end
  return redis.call('EXISTS', c) == 0 and 'unclaimed' or 'fenced'
end

-- Records the owner, or the owner that parked the pass, before the pass is taken away. Later writes of that owner are
-- superseded.
local function supersede_owner()
  local owner, parked_by = unpack(redis.call('HMGET', pass, 'owner', 'parkedBy'))
  if owner or parked_by then put(record, 'superseded', owner or parked_by) end
end

-- True if reasons were added after the owner read them. Then the pass must not end, because callers wait for it. '*'
-- accepts all reasons, because a pass may be requested without any.
local function has_new_reasons(seen)
  return seen ~= '*' and redis.call('HGET', pass, 'reasons') ~= seen
end

-- Include first: ready. Gives the pass a lease. The pass is due again at the end of this lease (I6).
local function lease_pass(owner, leaseMs)
  local lease = now + tonumber(leaseMs)
  redis.call('HSET', pass, 'owner', owner, 'lease', string.format('%.0f', lease))
  schedule(pass_member, lease)
end

local function claimed_pass()
  return { 'claimed', redis.call('HGETALL', pass), redis.call('HGETALL', c) }
end
