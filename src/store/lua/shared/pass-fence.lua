-- Needs: keys. I4: only the present owner of the present pass writes for it. 'fenced': its lease lapsed, and another has claimed
-- the pass since, or ended it. 'superseded': a restore ended the pass, or a turn took it over under another id.
local function find_pass_loss(passId, owner)
  if redis.call('EXISTS', gone) == 1 then return 'gone' end
  local held = redis.call('HMGET', pass, 'passId', 'owner')
  if held[1] == passId then return held[2] ~= owner and 'fenced' or nil end
  return redis.call('HGET', c, 'lp') == passId and 'fenced' or 'superseded'
end

-- Whether reasons were added since the owner read them: who added one waits for what this pass makes of it. '*': whatever
-- they are; a pass may have been asked for without any.
local function has_new_reasons(seen)
  return seen ~= '*' and redis.call('HGET', pass, 'reasons') ~= seen
end
