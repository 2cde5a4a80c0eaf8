-- Needs: keys. I4: only the present owner at its epoch writes, and only for the head.
local function find_loss(turn, owner, epoch)
  if redis.call('EXISTS', gone) == 1 then return 'gone' end
  local held = redis.call('HMGET', c, 'owner', 'epoch')
  if held[1] ~= owner or held[2] ~= epoch or redis.call('LINDEX', mb, 0) ~= turn then return 'fenced' end
end

-- Epochs never repeat, not even after an erase: they are never behind the clock.
local function raise_epoch()
  local epoch = string.format('%.0f', math.max(tonumber(redis.call('HGET', c, 'epoch') or 0) + 1, now))
  redis.call('HSET', c, 'epoch', epoch)
  return epoch
end
