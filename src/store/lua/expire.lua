#!lua flags=allow-oom
-- Erases a conversation that was idle for its TTL, one batch of keys a call, or resumes an interrupted erase. It decides by the
-- present state, so activity since the sweep keeps the conversation.
-- One call reports the expiry: the call that removed the last key, even if it is sent again (I5).
-- ARGV: owner (the call), batch size, goneMs
-- Reply: {'kept'} | {'more'}: keys are left | {'expired', keys removed by all calls} | {'resumed'}: a caller's erase has ended
-- @include key-names
-- @include corrupt
-- @include ready
-- @include erase
local owner, size, gone_ms = unpack(ARGV)
local BUSY_MS, RESEND_MS = 60000, 60000

-- Latest due time of its scheduled turns, or 0: the mailbox does not name them (I2). This walks `ix` once an expiry: 1.5 ms at
-- 1,000 turns, 17 at 10,000, 100 at 100,000. Rejected: a search of
-- `ready`, which costs what the whole shard holds, 12 ms at 10,000 late entries.
local function find_last_due()
  local last = 0
  for _, key in ipairs(redis.call('SMEMBERS', ix)) do
    local due = string.sub(key, 1, #tbase) == tbase and redis.call('HGET', key, 'dueAt')
    if due and redis.call('HGET', key, 'state') == 'scheduled' then last = math.max(last, due) end
  end
  return last
end

-- Earliest time at which the conversation may have been idle for its TTL.
local function find_idle_end(state)
  local ttl, ends = string.match(state[2], '^(%d+) (%d+)$')
  local is_busy = redis.call('LLEN', mb) > 0 or redis.call('EXISTS', pass) == 1 or tonumber(state[4] or 0) > now
  -- The end of the present work restarts the idle TTL, which moves the entry.
  if is_busy then return now + math.max(ttl, BUSY_MS) end
  -- The last entry of the log counts as activity too.
  local entry = redis.call('HGET', log, state[3] or 0)
  local written = entry and string.match(entry, '^%S+ %S+ %S+ %S+ (%d+)') or 0
  ends = math.max(ends, written + ttl)
  if ends > now then return ends end
  local due = find_last_due()
  return due > 0 and math.max(due, now) + math.max(ttl, BUSY_MS) or ends
end

local state = redis.call('HMGET', c, 'schema', 'ttl', 'head', 'forkUntil')
if state[2] and not string.find(state[2], '^%d+ %d+$') then return corrupt(c, 'ttl') end
local is_there = state[1]
if is_there and state[2] then
  local ends = find_idle_end(state)
  if ends > now then
    schedule_idle_check(ends)
    return { 'kept' }
  end
  redis.call('SET', expiry, '', 'PX', gone_ms)
elseif is_there or redis.call('EXISTS', ix) == 0 then
  forget_idle_ttl()
  if is_there or redis.call('GET', expiry) ~= owner then return { 'kept' } end
  return { 'expired', tonumber(redis.call('GET', gone)) }
end
redis.call('SET', gone, 0, 'NX', 'PX', gone_ms)
local removed, has_more = erase_batch(size)
if has_more == 1 then return { 'more' } end
if not redis.call('SET', expiry, owner, 'XX', 'PX', RESEND_MS) then return { 'resumed' } end
return { 'expired', removed }
