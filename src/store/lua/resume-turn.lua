-- Brings answers and approvals for calls that a turn waits for; the first answer to a call counts.
-- ARGV: turn, wake, then per answer call id and JSON
-- Reply: {'fulfilled', 1 where the wake is to be added} | {'partial'|'not_waiting'|'not_found'|'gone'}
-- @include keys
-- @include ready
-- @include wake
-- @include fulfil
local turn, wake = ARGV[1], ARGV[2]
local key = tbase .. turn
if redis.call('EXISTS', gone) == 1 then return { 'gone' } end
local wait = redis.call('HMGET', key, 'state', 'wfor', 'wful', 'wcalls')
if not wait[1] then return { 'not_found' } end
local is_waiting, kind = wait[1] == 'waiting', wait[2]
-- A fulfilled wait that a worker has gone on from answers a resume sent again as before.
local is_open = (kind == 'tools' or kind == 'approval') and (is_waiting or wait[3])

local awaited, is_any_awaited, is_any_missing, is_any_new = {}, false, false, #ARGV < 3
for _, call in ipairs(is_open and cjson.decode(wait[4]) or {}) do awaited[call] = true end
for at = 3, #ARGV, 2 do
  local answer = 'a:' .. ARGV[at]
  if awaited[ARGV[at]] then
    is_any_awaited = true
    redis.call('HSETNX', key, answer, ARGV[at + 1])
  else
    is_any_new = is_any_new or redis.call('HEXISTS', key, answer) == 0
  end
end
-- Brought again, after the turn has gone on with all of them.
if not is_any_awaited and not is_any_new then return { 'fulfilled', 0 } end
if not is_any_awaited then return { 'not_waiting' } end
for call in pairs(awaited) do
  is_any_missing = is_any_missing or redis.call('HEXISTS', key, 'a:' .. call) == 0
end
if is_any_missing then return { 'partial' } end
fulfil_wait(kind, wake)
return { 'fulfilled', is_waiting and redis.call('HGET', c, 'wake') == wake and 1 or 0 }
