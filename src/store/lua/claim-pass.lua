-- Gives the pass in progress to a worker. After too many claims without plan or end, the script ends the pass as
-- failed.
-- `job`: the queue job of the caller. `wake`: for a turn that waits for the pass.
-- Reply: {'gone'} | {'empty'} | {'leased', untilMs} | {'failed', passId, 1 if the wake is to be added} | {'claimed',
-- the pass's fields, the conversation's fields}
-- @args owner, job, wake, leaseMs, maxAttempts
-- @include keys
-- @include pass-end
if redis.call('EXISTS', gone) == 1 then return { 'gone' } end
local last, last_wake, is_awaited = unpack(redis.call('HMGET', c, 'lastPass', 'lastPassWake', 'lastPassAwaited'))
-- An earlier attempt of this claim has already ended the pass.
if last_wake == wake then return { 'failed', last, tonumber(is_awaited) } end
local passId, present_owner, lease, claims, parked, parked_until =
  unpack(redis.call('HMGET', pass, 'passId', 'owner', 'lease', 'attempts', 'parked', 'parkedUntil'))
if not passId then
  unschedule(pass_member)
  return { 'empty' }
end
if tonumber(lease or 0) > now then
  if present_owner == owner then return claimed_pass() end
  return { 'leased', lease }
end
-- While the child jobs run, only their parent job may claim the pass.
if parked and parked ~= job and number_of(pass, 'parkedUntil', parked_until) > now then return { 'leased', parked_until } end

local attempts = number_of(pass, 'attempts', claims) + 1
if attempts > tonumber(maxAttempts) then return { 'failed', passId, end_pass(passId, 'failed', wake) } end
redis.call('HSET', pass, 'attempts', attempts, 'resumed', parked == job and 1 or 0)
redis.call('HDEL', pass, 'parked', 'parkedBy', 'parkedUntil', 'sweeps')
lease_pass(owner, leaseMs)
return claimed_pass()
