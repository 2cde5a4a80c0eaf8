-- Creates a pass and its ready entry (I6), or adds reasons to the pass in progress. A hard reason removes its proposal.
-- ARGV: passId, wake, upper bound of the size that a provider refused or '', calibration of the caller or '', 1 if a reason is
-- hard, reasons
-- Reply: {'requested'|'joined', passId, 1 if the wake is to be added} | {'not_found'} | {'forking', 1 if abandoned} | {'gone'}
-- @include keys
-- @include ready
-- @include forking
-- @include index
-- @include review
local passId, wake, refused, calibration, is_hard = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5] == '1'
if redis.call('EXISTS', gone) == 1 then return { 'gone' } end
local last = redis.call('HMGET', c, 'schema', 'lp', 'forking', 'forkUntil')
if not last[1] then return { 'not_found' } end
if last[3] then return forking_reply(last[4]) end
-- Sent again: the pass of this request has ended.
if last[2] == passId then return { 'requested', passId, 0 } end

local current = redis.call('HMGET', pass, 'passId', 'reasons', 'wake', 'refused', 'proposal', 'owner', 'calibration')
local reasons, known = {}, {}
local function add(reason)
  if not known[reason] then reasons[#reasons + 1] = reason end
  known[reason] = true
end
for reason in string.gmatch(current[2] or '', '[^,]+') do add(reason) end
for at = 6, #ARGV do add(ARGV[at]) end
redis.call('HSET', pass, 'reasons', table.concat(reasons, ','))
if refused ~= '' and tonumber(refused) < tonumber(current[4] or math.huge) then
  redis.call('HSET', pass, 'refused', refused)
end
if calibration ~= '' and tonumber(calibration) > tonumber(current[7] or 0) then
  redis.call('HSET', pass, 'calibration', calibration)
end
if current[1] then
  if is_hard and current[5] then
    drop_proposal()
    -- A worker that has the pass sees the reasons before it ends the pass.
    if not current[6] then
      redis.call('HSET', pass, 'wake', wake)
      schedule(pass_member, now + WAKE_GRACE_MS)
      return { 'joined', current[1], 1 }
    end
  end
  local status = current[1] == passId and 'requested' or 'joined'
  return { status, current[1], current[3] == wake and 1 or 0 }
end
redis.call('HSET', pass, 'passId', passId, 'wake', wake, 'attempts', 0, 'requestedAt', string.format('%.0f', now))
redis.call('HSET', c, 'pass', passId)
add_open_pass()
schedule(pass_member, now + WAKE_GRACE_MS)
return { 'requested', passId, 1 }
