-- Needs: keys. I4: only the present owner of the present pass writes for it. 'superseded': a restore ended the pass while it had
-- it, or a turn took it over under another id; of several owners that is known of the last. 'fenced': its lease lapsed, and
-- another has claimed the pass since, whatever came of it; or the conversation was erased and created again.
local function find_pass_loss(passId, owner)
  if redis.call('EXISTS', gone) == 1 then return 'gone' end
  local held = redis.call('HMGET', pass, 'passId', 'owner')
  if held[1] == passId and held[2] == owner then return nil end
  return redis.call('HGET', c, 'superseded') == owner and 'superseded' or 'fenced'
end

-- Before the pass is taken away from who has it, or parked it.
local function supersede_owner()
  local held = redis.call('HMGET', pass, 'owner', 'parkedBy')
  local owner = held[1] or held[2]
  if owner then redis.call('HSET', c, 'superseded', owner) end
end

-- Whether reasons were added since the owner read them: who added one waits for what this pass makes of it. '*': whatever
-- they are; a pass may have been asked for without any.
local function has_new_reasons(seen)
  return seen ~= '*' and redis.call('HGET', pass, 'reasons') ~= seen
end
