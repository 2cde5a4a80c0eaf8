-- Creates a compaction pass, or adds reasons to the pass in progress. A hard reason, for which a turn must wait,
-- removes the proposal of the pass.
-- `refused`: upper bound of the size that a provider refused. `calibration`: that of the caller. `isHard`: a reason is
-- hard. The reasons follow.
-- Reply: {'requested'|'joined', passId, 1 if the wake is to be added} | {'not_found'} | {'forking', 1 if abandoned} |
-- {'gone'}
-- @args passId, wake, refused, calibration, isHard, ...
-- @include keys
-- @include fork
-- @include review
if redis.call('EXISTS', gone) == 1 then return { 'gone' } end
local schema, last_pass, forking, fork_until = unpack(redis.call('HMGET', c, 'schema', 'lastPass', 'forking', 'forkUntil'))
if not schema then return { 'not_found' } end
if forking then return forking_reply(fork_until) end
-- The pass of this request has already ended.
if last_pass == passId then return { 'requested', passId, 0 } end

local present_pass, present_reasons, recorded_wake, present_refused, proposal, owner, present_calibration =
  unpack(redis.call('HMGET', pass, 'passId', 'reasons', 'wake', 'refused', 'proposal', 'owner', 'calibration'))
local reasons, known = {}, {}
local function add(reason)
  if not known[reason] then reasons[#reasons + 1] = reason end
  known[reason] = true
end
for reason in string.gmatch(present_reasons or '', '[^,]+') do add(reason) end
for at = rest, #ARGV do add(ARGV[at]) end
redis.call('HSET', pass, 'reasons', table.concat(reasons, ','))
if refused ~= '' and tonumber(refused) < tonumber(present_refused or math.huge) then
  redis.call('HSET', pass, 'refused', refused)
end
if calibration ~= '' and tonumber(calibration) > tonumber(present_calibration or 0) then
  redis.call('HSET', pass, 'calibration', calibration)
end
if present_pass then
  if isHard == '1' and proposal then
    drop_proposal()
    -- A worker that claimed the pass sees the new reasons before it ends the pass, so that worker needs no wake.
    if not owner then
      redis.call('HSET', pass, 'wake', wake)
      schedule(pass_member, now + WAKE_GRACE_MS)
      return { 'joined', present_pass, 1 }
    end
  end
  local status = present_pass == passId and 'requested' or 'joined'
  return { status, present_pass, recorded_wake == wake and 1 or 0 }
end
create_pass(passId, wake)
return { 'requested', passId, 1 }
