-- Accepts all results and approvals that a service sends for calls of a waiting turn, or none. The first answer to a
-- call counts, and changes only the call that it names (I21).
-- `request`: id of the request that brings the answers. Seven arguments per answer follow, as the loop below names
-- them. `unused` is the result to log if the answer is never used. It is `tokens bytes`, then its JSON on the next
-- line, or nothing if the answer itself is that JSON.
-- Reply: {'answered', 1 if the wake is to be added} | {'not_waiting'|'other_call'|'unnamed_call', call} |
-- {'other_kind', call, kind of the wait} | {'decided', call, time, verdict, who answered} |
-- {'still_waiting'|'not_found'|'gone'}
-- @args turn, wake, request, ...
-- @include keys
-- @include wake
-- @include waits
-- @include answers
-- @include turn-lists
local key = turnPrefix .. turn
if redis.call('EXISTS', gone) == 1 then return { 'gone' } end
local state, kind, is_over, calls, hash_lines, decided = unpack(redis.call('HMGET', key, 'state', 'waitFor',
  'waitFulfilled', 'waitCalls', 'waitHashes', 'decisions'))
if not state then return { 'not_found' } end
check_calls(key, calls or '')
local decisions = read_decisions(key, decided)
local hashes = read_hashes(hash_lines)
local is_waiting = state == 'waiting'
local is_recreated = redis.call('HEXISTS', c, 'recreated') == 1
-- A turn that runs or is queued can still get an answer. Either its wait was fulfilled, and a repeated answer gets the
-- same reply. Or a deadline has passed: a worker answers the overdue calls, and then suspends the turn for the others.
local is_open = ANSWERED[kind] and (is_waiting or state == 'running' or state == 'queued')
local awaited, deadlines = {}, {}
for call, deadline in pairs(select(2, read_waits(is_open and calls or ''))) do
  if is_waiting or is_over or deadline > now then
    awaited[#awaited + 1] = call
    deadlines[call] = deadline
  end
end

local taken, is_repeated = {}, true
for at = rest, #ARGV, 7 do
  local call, answer_kind, json, unused, verdict, hash, by = unpack(ARGV, at, at + 6)
  local answer = { call = call, kind = answer_kind, json = json, unused = unused, verdict = verdict, hash = hash, by = by }
  local decision, is_awaited = decisions[call], deadlines[call]
  local has_answer = redis.call('HEXISTS', key, 'a:' .. call) == 1
  if not is_awaited and not has_answer then return { 'not_waiting', call } end
  answer.own = decision and decision.hash or hashes[call]
  -- The conversation was created again, so an id alone may mean a call of the erased conversation.
  if is_recreated and hash == '' and is_awaited and answer.own then return { 'unnamed_call', call } end
  local refusal = refuse_answer(answer, is_awaited and kind, answer.own, decision)
  if refusal then return refusal end
  is_repeated = is_repeated and not is_awaited
  if not has_answer then taken[#taken + 1] = answer end
end
keep_request(key, request)
-- The request is a repetition, and the turn has already used all of its answers.
if is_repeated then return { 'answered', 0 } end
for _, answer in ipairs(taken) do
  redis.call('HSET', key, 'a:' .. answer.call, answer.json, 'waitUnused:' .. answer.call, answer.unused)
end
if #taken > 0 then write_decisions(key, decided, taken) end
-- The turn continues at the earliest deadline of an unanswered call.
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
