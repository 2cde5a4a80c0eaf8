-- Needs: keys, args. Takes a count and that many lines of open calls, then a count and that many ids of calls that were
-- answered. Answers these ids.
local function move_calls()
  local change, closed = 0, {}
  for _ = 1, tonumber(take()) do
    local call, provider = string.match(take(), '^(%S+) ?(.*)$')
    change = change + redis.call('HSET', c, 'o:' .. call, provider)
  end
  local ended = tonumber(take())
  -- A full Redis refuses a script at its first write, but only if that write could grow: a removal would let all others through.
  if ended > 0 then redis.call('HINCRBY', c, 'open', 0) end
  for at = 1, ended do
    closed[at] = take()
    change = change - redis.call('HDEL', c, 'o:' .. closed[at])
  end
  if change ~= 0 then redis.call('HINCRBY', c, 'open', change) end
  return closed
end
