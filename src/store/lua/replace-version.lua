-- Puts a version over the live one that no pass made: a restore, or the rollback of a turn. Ends the pass in progress.
-- ARGV: operation, operationMs, expected version, expected head, 1 where a waiting turn and open calls keep their messages,
-- backoff, wake of a turn that waits for the pass; keys of summaries with their count before them; then as put_version
-- Reply: {'replaced'|'known', version, the wake where it is to be added, else ''} | {'changed', live version, head} |
-- {'busy'} | {'text_gone'} | {'forking', 1 where it was abandoned} | {'not_found'} | {'gone'}
-- @include keys
-- @include ready
-- @include wake
-- @include events
-- @include fulfil
-- @include index
-- @include review
-- @include pass-end
-- @include pass-fence
-- @include forking
-- @include args
-- @include put-version
local operation, operationMs, expected, head, keeps = opbase .. take(), take(), take(), take(), take() == '1'
local backoff, wake = take(), take()
if redis.call('EXISTS', gone) == 1 then return { 'gone' } end
local known = redis.call('GET', operation)
if known then
  local number, added = string.match(known, '^(%d+) (.*)$')
  return { 'known', tonumber(number), added }
end
local state = redis.call('HMGET', c, 'schema', 'forking', 'owner', 'open', 'version', 'head', 'forkUntil', 'ttl')
if not state[1] then return { 'not_found' } end
if state[2] then return forking_reply(state[7]) end
-- A running turn holds the context that it was given, whether its lease has lapsed or not: its epoch still writes.
local turn = redis.call('LINDEX', mb, 0)
local waits = turn and redis.call('HGET', tbase .. turn, 'state') == 'waiting'
if state[3] or (not keeps and (waits or (state[4] or '0') ~= '0')) then return { 'busy' } end
local live = state[5] or '0'
if live ~= expected or state[6] ~= head then return { 'changed', tonumber(live), tonumber(state[6]) } end
for _, text in ipairs(take_list()) do
  if redis.call('HEXISTS', cp, 'k:' .. text) == 0 then return { 'text_gone' } end
end

-- First what a full Redis refuses: the end of a pass it would not.
local number = ARGV[position + 1]
keep_version(live)
keep_version(number)
local is_awaited, passId = 0, redis.call('HGET', pass, 'passId')
if passId then
  supersede_owner()
  is_awaited = end_pass(passId, 'superseded', wake)
  -- Its owner must not take this end for its own.
  redis.call('HDEL', c, 'lp', 'lw', 'lf', 'ls')
end
put_version()
redis.call('HSET', c, 'backoff', backoff)
start_idle_ttl(state[8])
local added = is_awaited == 1 and wake or ''
redis.call('SET', operation, number .. ' ' .. added, 'PX', operationMs)
index_key(operation)
return { 'replaced', tonumber(number), added }
