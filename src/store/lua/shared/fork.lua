-- Include first: keys. The lease of a fork while it is copied.

-- Returns the reply to a writer while a fork is copied. The second value is 1 if the fork's lease has lapsed.
local function forking_reply(untilMs)
  return { 'forking', number_of(c, 'forkUntil', untilMs or '0') <= now and 1 or 0 }
end

-- Returns the loss if the caller's operation does not own the fork, because no other operation may write to the fork.
local function find_fork_loss(operation)
  if redis.call('EXISTS', gone) == 1 then return 'gone' end
  local forking_operation = string.match(redis.call('HGET', c, 'forking') or '', '^%S+')
  if forking_operation ~= operation then return 'superseded' end
end

-- Renews the lease of a fork. When it has lapsed, the fork counts as abandoned: its operation may continue, or another
-- operation may replace the fork.
local function lease_fork(leaseMs)
  put(record, 'forkUntil', string.format('%.0f', now + tonumber(leaseMs)))
end
