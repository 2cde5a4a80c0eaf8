-- Needs: keys, ready. The turns of a shard that wait for answers from outside, as tenant|kind|id|turn: all scores are 0, so that
-- the set is in the order of its members. Every end of such a wait removes its entry, in the script that ends the wait.
local waiting = string.gsub(ready, 'ready$', 'waiting')
local ANSWERED = { tools = true, approval = true }

local function waiting_member(kind, turn)
  return tenant .. '|' .. kind .. '|' .. id .. '|' .. turn
end

local function list_waiting(kind, turn)
  if ANSWERED[kind] then redis.call('ZADD', waiting, 0, waiting_member(kind, turn)) end
end

local function forget_waiting(turn)
  redis.call('ZREM', waiting, waiting_member('tools', turn), waiting_member('approval', turn))
end
