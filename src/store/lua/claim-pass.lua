-- Hands the pass in progress to an owner. Ends it as failed after too many claims without a plan or an end.
-- ARGV: owner, job, wake of a turn that waits for the pass, leaseMs, maxAttempts
-- Reply: {'gone'} | {'empty'} | {'held', untilMs} | {'failed', passId, 1 if the wake is to be added} |
-- {'claimed', the pass's fields, the conversation's fields}
-- @include keys
-- @include ready
-- @include wake
-- @include events
-- @include fulfil
-- @include index
-- @include review
-- @include pass-lease
-- @include pass-end
local owner, job, wake, leaseMs, maxAttempts = unpack(ARGV)
if redis.call('EXISTS', gone) == 1 then return { 'gone' } end
local last = redis.call('HMGET', c, 'lp', 'lw', 'lf')
-- Sent again: this claim ended the pass.
if last[2] == wake then return { 'failed', last[1], tonumber(last[3]) } end
local held = redis.call('HMGET', pass, 'passId', 'owner', 'lease', 'attempts', 'parked', 'parkedUntil')
if not held[1] then
  unschedule(pass_member)
  return { 'empty' }
end
if tonumber(held[3] or 0) > now then
  if held[2] == owner then return claimed_pass() end
  return { 'held', held[3] }
end
-- While the children run, only their parent job may claim.
if held[5] and held[5] ~= job and number_of(pass, 'parkedUntil', held[6]) > now then return { 'held', held[6] } end

local attempts = number_of(pass, 'attempts', held[4]) + 1
if attempts > tonumber(maxAttempts) then return { 'failed', held[1], end_pass(held[1], 'failed', wake) } end
redis.call('HSET', pass, 'attempts', attempts, 'resumed', held[5] == job and 1 or 0)
redis.call('HDEL', pass, 'parked', 'parkedBy', 'parkedUntil', 'sweeps')
lease_pass(owner, leaseMs)
return claimed_pass()
