-- @include ready
-- @include corrupt
-- Each function returns the recorded wake or '' for work without a worker, and 1 if a lease has lapsed. If a worker has
-- a lease, or the work waits, the entry in `ready` moves to the end of that lease or wait. Without work, the entry is
-- removed.
local function find_lapsed_turn()
  local turn = redis.call('LINDEX', mb, 0)
  if not turn or redis.call('EXISTS', gone) == 1 then return unschedule(turn_member) end
  local lease, wake = unpack(redis.call('HMGET', c, 'lease', 'wake'))
  local state, wait_until, is_over = unpack(redis.call('HMGET', turnPrefix .. turn, 'state', 'waitUntil', 'waitFulfilled'))
  local untilMs = tonumber(lease or 0)
  if state == 'waiting' and not is_over then
    untilMs = math.max(untilMs, number_of(turnPrefix .. turn, 'waitUntil', wait_until))
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
