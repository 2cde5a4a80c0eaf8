-- Requires: keys. Defines: find_pass_loss, supersede_owner, has_new_reasons.
-- I4: only the present owner of the present pass writes for it. Returns nil, 'gone', 'superseded' or 'fenced'.
-- The loss is 'superseded' if a restore ended the pass, or a turn took it over under another id. This is known of the last owner alone.
-- The loss is 'fenced' if the lease lapsed and another owner has claimed the pass, or the conversation was erased and created again.
local function find_pass_loss(passId, owner)
  if redis.call('EXISTS', gone) == 1 then return 'gone' end
  local held = redis.call('HMGET', pass, 'passId', 'owner')
  if held[1] == passId and held[2] == owner then return nil end
  return redis.call('HGET', c, 'superseded') == owner and 'superseded' or 'fenced'
end

-- Marks the present owner, or the owner that parked the pass, before the pass is taken away.
local function supersede_owner()
  local held = redis.call('HMGET', pass, 'owner', 'parkedBy')
  local owner = held[1] or held[2]
  if owner then redis.call('HSET', c, 'superseded', owner) end
end

-- True if reasons were added after the owner read them: their callers wait for this pass. The value '*' accepts all reasons, because a
-- pass may be requested without any.
local function has_new_reasons(seen)
  return seen ~= '*' and redis.call('HGET', pass, 'reasons') ~= seen
end
