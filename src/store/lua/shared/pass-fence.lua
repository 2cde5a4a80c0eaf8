-- Requires: keys. Defines: find_pass_loss, supersede_owner, has_new_reasons.
-- I4: only the present owner of the present pass writes for it. find_pass_loss returns nil to that owner.
-- It returns 'gone' after an erase.
-- It returns 'superseded' if a restore ended the pass, or a turn took the pass over. Only the last such owner is known.
-- It returns 'fenced' if another owner claimed the pass after the lease, or the conversation was created again.
local function find_pass_loss(passId, owner)
  if redis.call('EXISTS', gone) == 1 then return 'gone' end
  local present_pass, present_owner = unpack(redis.call('HMGET', pass, 'passId', 'owner'))
  if present_pass == passId and present_owner == owner then return nil end
  return redis.call('HGET', c, 'superseded') == owner and 'superseded' or 'fenced'
end

-- Marks the present owner, or the owner that parked the pass, before the pass is taken away.
local function supersede_owner()
  local owner, parked_by = unpack(redis.call('HMGET', pass, 'owner', 'parkedBy'))
  if owner or parked_by then redis.call('HSET', c, 'superseded', owner or parked_by) end
end

-- True if reasons were added after the owner read them: the callers that added them wait for this pass. The value '*' accepts
-- all reasons, because a pass may be requested without any.
local function has_new_reasons(seen)
  return seen ~= '*' and redis.call('HGET', pass, 'reasons') ~= seen
end
