-- Requires: keys, conversation. Defines: find_loss, raise_epoch.
-- I4: only the present owner writes, at its epoch, and only for the head. Returns nil, 'gone', 'canceled' or 'fenced'.
-- An erase and a cancel remove the owner in their own script, so only a loser must look up the reason.
local function find_loss(turn, owner, epoch)
  if conversation.owner == owner and conversation.epoch == epoch and head_turn == turn then return nil end
  if redis.call('EXISTS', gone) == 1 then return 'gone' end
  return redis.call('HGET', turn_prefix .. turn, 'state') == 'canceled' and 'canceled' or 'fenced'
end

-- Epochs never repeat, not even after an erase, because an epoch is never behind the clock. The caller saves the epoch.
local function raise_epoch()
  conversation.epoch = string.format('%.0f', math.max(tonumber(conversation.epoch or 0) + 1, now))
  return conversation.epoch
end
