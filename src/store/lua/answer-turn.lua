-- Accepts the results and approvals that a service sends for tool calls of a waiting turn. Either all of them are
-- accepted or none. The first answer to a call counts.
-- ARGV: turn, wake; then for each answer: call id, kind of wait, JSON, and the result to log if the answer is never
-- used: `tokens bytes`, then its JSON on the next line, or nothing if the answer itself is that JSON
-- Reply: {'answered', 1 if the wake is to be added} | {'not_waiting', call} | {'other_kind', call, kind of the wait} |
-- {'still_waiting'|'not_found'|'gone'}
-- @include keys
-- @include ready
-- @include wake
-- @include fulfil
-- @include awaited
-- @include waiting
local turn, wake = ARGV[1], ARGV[2]
local key = turn_prefix .. turn
if redis.call('EXISTS', gone) == 1 then return { 'gone' } end
local state, kind, is_over, calls = unpack(redis.call('HMGET', key, 'state', 'waitFor', 'waitFulfilled', 'waitCalls'))
if not state then return { 'not_found' } end
check_calls(key, calls or '')
local is_waiting = state == 'waiting'
-- The turn may already run or be queued again, in two cases. First, its wait was fulfilled, and a repeated answer gets
-- the same reply as before. Second, a deadline has passed, and a worker answers the overdue calls before it suspends
-- the turn again for the other calls. In between, answers to the other calls are accepted.
local is_open = ANSWERED[kind] and (is_waiting or state == 'running' or state == 'queued')
local awaited, deadlines = {}, {}
for call, deadline in pairs(select(2, read_awaited(is_open and calls or ''))) do
  if is_waiting or is_over or deadline > now then
    awaited[#awaited + 1] = call
    deadlines[call] = deadline
  end
end

local taken = {}
for at = 3, #ARGV, 4 do
  local call = ARGV[at]
  if deadlines[call] then
    if ARGV[at + 1] ~= kind then return { 'other_kind', call, kind } end
    taken[#taken + 1] = at
  elseif redis.call('HEXISTS', key, 'a:' .. call) == 0 then
    return { 'not_waiting', call }
  end
end
-- A repeated call: the turn has already used all of these answers.
if #taken == 0 then return { 'answered', 0 } end
for _, at in ipairs(taken) do
  if redis.call('HSETNX', key, 'a:' .. ARGV[at], ARGV[at + 2]) == 1 then
    redis.call('HSET', key, 'waitUnused:' .. ARGV[at], ARGV[at + 3])
  end
end
-- The turn continues at the earliest deadline of a call without an answer.
local untilMs = math.huge
for _, call in ipairs(awaited) do
  if redis.call('HEXISTS', key, 'a:' .. call) == 0 then untilMs = math.min(untilMs, deadlines[call]) end
end
if untilMs < math.huge then
  if is_waiting then
    redis.call('HSET', key, 'waitUntil', string.format('%.0f', untilMs))
    schedule(turn_member, untilMs)
  end
  return { 'still_waiting' }
end
if is_waiting then
  end_wait(kind, wake, true)
  forget_waiting(turn)
end
return { 'answered', is_waiting and redis.call('HGET', c, 'wake') == wake and 1 or 0 }
