-- Needs: keys, args. Takes a count and that many open calls (id, the provider's id or empty), then a count and that many ids
-- of calls that were answered.
local function move_calls()
  for _ = 1, tonumber(take()) do
    local call = take()
    redis.call('HSET', c, 'o:' .. call, take())
  end
  for _ = 1, tonumber(take()) do redis.call('HDEL', c, 'o:' .. take()) end
end
