-- Requires: keys, ready. Defines: find_lapsed.
-- Returns the recorded wake, or '', of a turn or pass that the sweeper may wake. Returns nothing in two cases. A valid
-- lease, a wait before its deadline or a parked pass reschedules the entry. An entry with nothing to do is removed.
local function find_lapsed_turn()
  local turn = redis.call('LINDEX', mb, 0)
  if not turn or redis.call('EXISTS', gone) == 1 then return unschedule(turn_member) end
  local held = redis.call('HMGET', c, 'lease', 'wake')
  local wait = redis.call('HMGET', tbase .. turn, 'state', 'wuntil', 'wful')
  local untilMs = tonumber(held[1] or 0)
  if wait[1] == 'waiting' and not wait[3] then untilMs = math.max(untilMs, number_of(tbase .. turn, 'wuntil', wait[2])) end
  if untilMs > now then return schedule(turn_member, untilMs) end
  return held[2] or ''
end

local function find_lapsed_pass()
  local held = redis.call('HMGET', pass, 'passId', 'lease', 'parkedUntil', 'wake')
  if not held[1] or redis.call('EXISTS', gone) == 1 then return unschedule(pass_member) end
  local untilMs = math.max(tonumber(held[2] or 0), tonumber(held[3] or 0))
  if untilMs > now then return schedule(pass_member, untilMs) end
  return held[4] or ''
end

local function find_lapsed(kind)
  if kind == 'turn' then return find_lapsed_turn() end
  return find_lapsed_pass()
end
