-- Makes a pass and its ready entry (I6), or adds the reasons to the pass in progress.
-- ARGV: passId, wake, reasons
-- Reply: {'requested'|'joined', passId, 1 where the wake is to be added} | {'not_found'} | {'forking'} | {'gone'}
-- @include keys
-- @include ready
local passId, wake = ARGV[1], ARGV[2]
if redis.call('EXISTS', gone) == 1 then return { 'gone' } end
local last = redis.call('HMGET', c, 'schema', 'lp', 'forking')
if not last[1] then return { 'not_found' } end
if last[3] then return { 'forking' } end
-- Sent again after the pass that it made has ended.
if last[2] == passId then return { 'requested', passId, 0 } end

local current = redis.call('HMGET', pass, 'passId', 'reasons', 'wake')
local reasons, known = {}, {}
local function add(reason)
  if not known[reason] then reasons[#reasons + 1] = reason end
  known[reason] = true
end
for reason in string.gmatch(current[2] or '', '[^,]+') do add(reason) end
for at = 3, #ARGV do add(ARGV[at]) end
redis.call('HSET', pass, 'reasons', table.concat(reasons, ','))
if current[1] then
  local status = current[1] == passId and 'requested' or 'joined'
  return { status, current[1], current[3] == wake and 1 or 0 }
end
redis.call('HSET', pass, 'passId', passId, 'wake', wake, 'attempts', 0, 'requestedAt', string.format('%.0f', now))
redis.call('HSET', c, 'pass', passId)
look_again(pass_member, now + WAKE_GRACE_MS)
return { 'requested', passId, 1 }
