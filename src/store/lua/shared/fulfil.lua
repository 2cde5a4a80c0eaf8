-- Needs: keys, ready, wake. Fulfils the wait of the head turn, if it waits for `kind`; true: the caller adds `wake`.
-- A wait that was fulfilled before keeps the wake that it got then.
local function fulfil_wait(kind, wake)
  local turn = redis.call('LINDEX', mb, 0)
  if not turn then return false end
  local wait = redis.call('HMGET', tbase .. turn, 'state', 'wfor', 'wful')
  if wait[1] ~= 'waiting' or wait[2] ~= kind or wait[3] then return false end
  redis.call('HSET', tbase .. turn, 'wful', 1)
  wake_turn(wake)
  return true
end
