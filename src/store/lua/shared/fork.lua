-- Requires: keys.

-- The reply to a writer while a fork is copied. The second value is 1 if the fork's lease has lapsed.
local function forking_reply(untilMs)
  return { 'forking', number_of(c, 'forkUntil', untilMs or '0') <= now and 1 or 0 }
end

-- No other operation may write to the fork.
local function find_fork_loss(operation)
  if redis.call('EXISTS', gone) == 1 then return 'gone' end
  local forking_operation = string.match(redis.call('HGET', c, 'forking') or '', '^%S+')
  if forking_operation ~= operation then return 'superseded' end
end

-- After the lease, the fork counts as abandoned: its operation may continue, or another may replace it.
local function lease_fork(leaseMs)
  put(record, 'forkUntil', string.format('%.0f', now + tonumber(leaseMs)))
end
