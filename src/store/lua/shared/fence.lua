-- Requires: keys, conversation. Defines: find_loss, raise_epoch. Checks that the caller still owns the first turn of the
-- mailbox, under its epoch (I4). No other worker may write. Returns nil, 'gone', 'canceled', 'unclaimed' or 'fenced'. An
-- erase or a cancel removes the owner, so the reason is looked up only if the check fails. Epochs only grow. A conversation
-- without the epoch of the caller, or with a lower one, was created again after an erase, or the database lost the claim.
local function find_loss(turn, owner, epoch)
  if conversation.owner == owner and conversation.epoch == epoch and head_turn == turn then return nil end
  if redis.call('EXISTS', gone) == 1 then return 'gone' end
  if redis.call('HGET', turn_prefix .. turn, 'state') == 'canceled' then return 'canceled' end
  if tonumber(conversation.epoch or 0) >= tonumber(epoch) then return 'fenced' end
  return redis.call('HEXISTS', c, 'recreated') == 1 and 'gone' or 'unclaimed'
end

-- Raises the epoch of the conversation, so that writes of former owners are refused. An epoch is at least the present
-- time, so epochs never repeat, not even after an erase. The calling script stores the epoch.
local function raise_epoch()
  conversation.epoch = string.format('%.0f', math.max(tonumber(conversation.epoch or 0) + 1, now))
  return conversation.epoch
end
