-- @include pass-owner
-- @include wake
-- @include events
-- @include idle-ttl
-- @include review

-- After these outcomes of a pass, a waiting turn need not check its size again (I13). settlesSize in domain/pass.ts has
-- the same list.
local SETTLES_SIZE = { committed = true, approved = true, none = true, no_gain = true, infeasible = true }

-- Ends a pass, removes its entry in `ready` (I6), and wakes a turn that waits for the pass. Thresholds of turns and
-- messages count from here. After `no_reason` and `thinking` they do not, because frequent evaluations would keep them
-- from being reached. Returns 1 if a turn waited, and the caller adds `wake`. `ttl`: the `new_ttl` of start_idle_ttl.
local function end_pass(passId, outcome, wake, ttl)
  answer_decision(outcome .. ' ' .. (redis.call('HGET', c, 'version') or '0'))
  redis.call('DEL', pass)
  drop(record, 'pass')
  unschedule(pass_member)
  remove_open_pass()
  local settles = SETTLES_SIZE[outcome]
  local is_awaited = end_wait('compaction', wake, settles) and 1 or 0
  put(record, 'lastPass', passId, 'lastPassWake', wake, 'lastPassAwaited', is_awaited,
    'lastPassSettled', settles and 1 or 0)
  local head, turns, known_ttl = value_of(record, 'head'), value_of(record, 'turns'), value_of(record, 'ttl')
  start_idle_ttl(known_ttl, ttl)
  if outcome ~= 'no_reason' and outcome ~= 'thinking' then
    put(record, 'passed', (head or 0) .. ' ' .. (turns or 0))
    emit('pass_ended', { 'passId', passId, 'outcome', outcome })
  end
  return is_awaited
end

-- Returns the reply to a repeated call that ended the pass (I5), or nil.
local function find_end(passId)
  local last, wake, is_awaited = unpack(redis.call('HMGET', c, 'lastPass', 'lastPassWake', 'lastPassAwaited'))
  if last == passId then return { 'ended', is_awaited == '1' and wake or '' } end
end

-- Ends the open pass, because the live version is replaced without it. Returns 1 if a turn waited for the pass.
local function supersede_pass(wake)
  local passId = redis.call('HGET', pass, 'passId')
  if not passId then return 0 end
  supersede_owner()
  local is_awaited = end_pass(passId, 'superseded', wake)
  -- Without this, a repeated call of the pass's owner would report this end as its own.
  drop(record, 'lastPass', 'lastPassWake', 'lastPassAwaited', 'lastPassSettled')
  return is_awaited
end
