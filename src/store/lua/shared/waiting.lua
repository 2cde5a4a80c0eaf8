-- Requires: keys, ready. Defines: ANSWERED, list_waiting, forget_waiting. The sorted set contains the turns of a shard
-- that wait for tool results or approvals from outside, as tenant|kind|id|turn. All scores are 0, so the set is ordered
-- by its members. The script that ends such a wait removes the entry.
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
