-- A fork is copied in batches, under a lease of the operation that began it.
-- @include record

-- Returns the reply to a writer while a fork is copied. The second value is 1 if the lease has lapsed.
local function forking_reply(untilMs)
  return { 'forking', number_of(c, 'forkUntil', untilMs or '0') <= now and 1 or 0 }
end

-- Returns nil if the caller's operation owns the fork, or why not.
local function find_fork_loss(operation)
  if redis.call('EXISTS', gone) == 1 then return 'gone' end
  local forking_operation = string.match(redis.call('HGET', c, 'forking') or '', '^%S+')
  if forking_operation ~= operation then return 'superseded' end
end

-- Renews the lease. When it has lapsed, the fork is abandoned: its operation may continue, or another operation may
-- replace the fork.
local function lease_fork(leaseMs)
  put(record, 'forkUntil', string.format('%.0f', now + tonumber(leaseMs)))
end
