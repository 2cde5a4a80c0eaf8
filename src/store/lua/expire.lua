#!lua flags=allow-oom
-- Erases a conversation that was idle for its idle TTL, one batch of keys per call. Also continues an interrupted
-- erase. If the conversation was active since the sweep, it is kept. Only the call that removed the last key reports
-- the expiry (I5).
-- `owner` names the call. `isRestored`: the index was just restored.
-- Reply: {'kept'} | {'more'}: keys are left | {'expired', keys removed by all calls} | {'resumed'}: finished an erase
-- that a client began | {'unlisted'}: the index must be restored first
-- @args owner, batch, goneMs, isRestored
-- @include erase
local BUSY_MS, RESEND_MS = 60000, 60000

-- Returns the latest due time of the scheduled turns, 0 without such turns, or nil if the index does not list all
-- turns. The mailbox does not list scheduled turns (I2). Reading the index takes 1.5 ms at 1,000 turns, 17 at 10,000,
-- 100 at 100,000. Reading `ready` would take 12 ms at 10,000 late entries of the shard.
local function find_last_due()
  local last = 0
  if isRestored ~= '1' and is_index_lost() then return nil end
  for _, name in ipairs(redis.call('HKEYS', ix)) do
    if not key_of(name) then return nil end
    local key = turnPrefix .. string.sub(name, 3)
    local due = string.sub(name, 1, 2) == 't:' and redis.call('HGET', key, 'dueAt')
    if due and redis.call('HGET', key, 'state') == 'scheduled' then last = math.max(last, due) end
  end
  return last
end

local schema, ttl_field, head, fork_until = unpack(redis.call('HMGET', c, 'schema', 'ttl', 'head', 'forkUntil'))

-- Returns the earliest time at which the idle TTL may have passed, or nil if the index must be restored.
local function find_idle_end()
  local ttl, ends = string.match(ttl_field, '^(%d+) (%d+)$')
  local is_busy = redis.call('LLEN', mb) > 0 or redis.call('EXISTS', pass) == 1 or tonumber(fork_until or 0) > now
  -- The conversation has work. When that work ends, the idle TTL starts again and moves the entry in `idle`.
  if is_busy then return now + math.max(ttl, BUSY_MS) end
  -- The time of the last message in the log counts as the last activity.
  local entry = redis.call('HGET', log, head or 0)
  local written = entry and string.match(entry, '^%S+ %S+ %S+ %S+ (%d+)') or 0
  ends = math.max(ends, written + ttl)
  if ends > now then return ends end
  local due = find_last_due()
  if not due then return nil end
  return due > 0 and math.max(due, now) + math.max(ttl, BUSY_MS) or ends
end

if ttl_field and not string.find(ttl_field, '^%d+ %d+$') then return corrupt(c, 'ttl') end
if schema and ttl_field then
  local ends = find_idle_end()
  if not ends then return { 'unlisted' } end
  if ends > now then
    schedule_idle_check(ends)
    return { 'kept' }
  end
  redis.call('SET', expiry, '', 'PX', goneMs)
elseif schema or redis.call('EXISTS', ix) == 0 then
  forget_idle_ttl()
  if schema or redis.call('GET', expiry) ~= owner then return { 'kept' } end
  return { 'expired', tonumber(redis.call('GET', gone)) }
end
redis.call('SET', gone, 0, 'NX', 'PX', goneMs)
local removed, has_more = erase_batch(batch)
if has_more > 0 then return { has_more == 2 and 'unlisted' or 'more' } end
if not redis.call('SET', expiry, owner, 'XX', 'PX', RESEND_MS) then return { 'resumed' } end
return { 'expired', removed }
