-- Needs: keys. Only the operation that is copying into this conversation writes to it.
local function find_fork_loss(operation)
  if redis.call('EXISTS', gone) == 1 then return 'gone' end
  local by = string.match(redis.call('HGET', c, 'forking') or '', '^%S+')
  if by ~= operation then return 'superseded' end
end

-- Each batch extends it. Past it the fork is abandoned: its own operation may go on, and another may begin anew.
local function lease_fork(leaseMs)
  redis.call('HSET', c, 'forkUntil', string.format('%.0f', now + tonumber(leaseMs)))
end
