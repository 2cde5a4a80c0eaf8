-- Needs: keys, conversation. I4: only the present owner at its epoch writes, and only for the head. An erase and a cancel take
-- the owner away in the script that says so, so that only who has lost needs to look why.
local function find_loss(turn, owner, epoch)
  if conversation.owner == owner and conversation.epoch == epoch and head_turn == turn then return nil end
  if redis.call('EXISTS', gone) == 1 then return 'gone' end
  return redis.call('HGET', tbase .. turn, 'state') == 'canceled' and 'canceled' or 'fenced'
end

-- Epochs never repeat, not even after an erase: they are never behind the clock. Answers the epoch; the caller saves it.
local function raise_epoch()
  conversation.epoch = string.format('%.0f', math.max(tonumber(conversation.epoch or 0) + 1, now))
  return conversation.epoch
end
