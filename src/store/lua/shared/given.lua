-- Removes what the caller of a turn gave for its time: the context, and the tools and instructions of this turn alone.
-- Its own of a failed turn moves to its hash, from which a redrive takes it, and expires with the hash.
local function erase_given(turn, hash, state)
  local own = state == 'failed' and value_of(hash, 'hasOwn') and redis.call('HGET', txt, 'o:' .. turn)
  if own then put(hash, 'own', own) end
  redis.call('HDEL', txt, 'c:' .. turn, 'o:' .. turn)
  drop(hash, 'hasContext', 'hasOwn')
end
