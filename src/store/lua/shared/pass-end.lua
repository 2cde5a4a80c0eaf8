-- Needs: keys, ready, wake, events, fulfil, review.
-- @include idle-ttl

-- I13: the ends after which the context's size is what a pass can make of it. Same list as settlesSize in domain/pass.ts.
local SETTLES_SIZE = { committed = true, approved = true, none = true, no_gain = true, infeasible = true }

-- Every end of a pass, whatever it is: its entry goes with it (I6) and a turn that waited for it goes on. Thresholds of turns
-- and messages count from here, unless there was no pass: evaluated more often than a threshold is met, they would never
-- be. ttl: as start_idle_ttl is given it.
-- Answers 1 where a turn waited: the caller adds `wake`.
local function end_pass(passId, outcome, wake, ttl)
  answer_decision(outcome .. ' ' .. (redis.call('HGET', c, 'version') or '0'))
  redis.call('DEL', pass)
  redis.call('HDEL', c, 'pass')
  unschedule(pass_member)
  remove_open_pass()
  local settles = SETTLES_SIZE[outcome]
  local is_awaited = end_wait('compaction', wake, settles) and 1 or 0
  redis.call('HSET', c, 'lp', passId, 'lw', wake, 'lf', is_awaited, 'ls', settles and 1 or 0)
  local log_end = redis.call('HMGET', c, 'head', 'turns', 'ttl')
  start_idle_ttl(log_end[3], ttl)
  if outcome ~= 'no_reason' and outcome ~= 'thinking' then
    redis.call('HSET', c, 'passed', (log_end[1] or 0) .. ' ' .. (log_end[2] or 0))
    emit('pass_ended', { 'passId', passId, 'outcome', outcome })
  end
  return is_awaited
end

-- The answer to an end that is sent again (I5); nothing where this pass is not the one that ended last.
local function find_end(passId)
  local last = redis.call('HMGET', c, 'lp', 'lw', 'lf')
  if last[1] == passId then return { 'ended', last[3] == '1' and last[2] or '' } end
end
