-- Requires: keys, ready, wake, events, fulfil, review. Defines: SETTLES_SIZE, end_pass, find_end.
-- @include idle-ttl

-- I13: outcomes after which a pass has settled the size of the context. The same list is settlesSize in domain/pass.ts.
local SETTLES_SIZE = { committed = true, approved = true, none = true, no_gain = true, infeasible = true }

-- Ends a pass: removes its entry (I6) and wakes a turn that waits for it. Thresholds of turns and messages count from here,
-- except after an evaluation that found no reason. Frequent evaluations would keep those thresholds from being met.
-- ttl: `given` of start_idle_ttl. Returns 1 if a turn waited: the caller adds `wake`.
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

-- Reply to an end that is sent again (I5), or nothing if another pass ended later.
local function find_end(passId)
  local last = redis.call('HMGET', c, 'lp', 'lw', 'lf')
  if last[1] == passId then return { 'ended', last[3] == '1' and last[2] or '' } end
end
