-- Makes a version the live one without a compaction pass, for a restore or rollback by a service. Ends the pass in
-- progress.
-- `expected`, `expectedHead`: live version and last seq that the caller knows. `keepsNewer`: the messages of a waiting
-- turn and of open calls stay. `wake`: for a turn that waits for the pass. Counted keys of summaries follow, then the
-- arguments of put_version.
-- Reply: {'replaced'|'known', version, the wake if it is to be added, else ''} | {'changed', live version, head} |
-- {'busy'} | {'text_gone'} | {'forking', 1 if abandoned} | {'not_found'} | {'gone'} | {'other_payload'}
-- @args operation, operationMs, expected, expectedHead, keepsNewer, backoff, wake, ...
-- @include keys
-- @include pass-end
-- @include fork
-- @include put-version
if redis.call('EXISTS', gone) == 1 then return { 'gone' } end
local known, is_other = find_answer(operation, '')
if is_other then return { 'other_payload' } end
if known then
  local number, added = string.match(known, '^(%d+) (.*)$')
  return { 'known', tonumber(number), added }
end
local schema, forking, owner, open, version, head, fork_until, ttl =
  unpack(redis.call('HMGET', c, 'schema', 'forking', 'owner', 'open', 'version', 'head', 'forkUntil', 'ttl'))
if not schema then return { 'not_found' } end
if forking then return forking_reply(fork_until) end
-- The version must not change under a running turn, even after its lease lapsed, because its worker can still write.
local turn = redis.call('LINDEX', mb, 0)
local waits = turn and redis.call('HGET', turnPrefix .. turn, 'state') == 'waiting'
if owner or (keepsNewer ~= '1' and (waits or (open or '0') ~= '0')) then return { 'busy' } end
local live = version or '0'
if live ~= expected or head ~= expectedHead then return { 'changed', tonumber(live), tonumber(head) } end
for _, text in ipairs(take_list()) do
  if redis.call('HEXISTS', txt, 'k:' .. text) == 0 then return { 'text_gone' } end
end

-- A full Redis refuses a script at its first write, if that write can need memory. Ending a pass needs no memory, so
-- the restore points are written first.
local number = ARGV[rest]
keep_version(live)
keep_version(number)
local is_awaited = supersede_pass(wake)
put_version()
put(record, 'backoff', backoff)
-- The caller's version also decides if messages of canceled turns are in the context, so `undo` is dropped.
drop(record, 'undo')
start_idle_ttl(ttl)
local added = is_awaited == 1 and wake or ''
keep_answer(operation, number .. ' ' .. added, operationMs, '')
return { 'replaced', tonumber(number), added }
