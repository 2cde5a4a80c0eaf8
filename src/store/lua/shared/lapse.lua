-- Requires: keys, ready. Defines: find_lapsed. If a turn or pass has work but no worker, returns its recorded wake
-- or ''. The second value is 1 if the lease of a worker has lapsed, else 0. Otherwise returns nothing. The entry in `ready` is
-- then rescheduled if a worker has a lease, a wait has time left, or a pass waits for child jobs. An entry without work is
-- removed instead.
local function find_lapsed_turn()
  local turn = redis.call('LINDEX', mb, 0)
  if not turn or redis.call('EXISTS', gone) == 1 then return unschedule(turn_member) end
  local lease, wake = unpack(redis.call('HMGET', c, 'lease', 'wake'))
  local state, wait_until, is_over = unpack(redis.call('HMGET', turn_prefix .. turn, 'state', 'waitUntil', 'waitFulfilled'))
  local untilMs = tonumber(lease or 0)
  if state == 'waiting' and not is_over then
    untilMs = math.max(untilMs, number_of(turn_prefix .. turn, 'waitUntil', wait_until))
  end
  if untilMs > now then return schedule(turn_member, untilMs) end
  return wake or '', lease and 1 or 0
end

local function find_lapsed_pass()
  local passId, lease, parked_until, wake = unpack(redis.call('HMGET', pass, 'passId', 'lease', 'parkedUntil', 'wake'))
  if not passId or redis.call('EXISTS', gone) == 1 then return unschedule(pass_member) end
  local untilMs = math.max(tonumber(lease or 0), tonumber(parked_until or 0))
  if untilMs > now then return schedule(pass_member, untilMs) end
  return wake or '', lease and 1 or 0
end

local function find_lapsed(kind)
  if kind == 'turn' then return find_lapsed_turn() end
  return find_lapsed_pass()
end
