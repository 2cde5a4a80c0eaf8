-- Settles the first turn as failed, because its workers keep dying without an outcome (I10).
-- @include settle
-- @include open-calls

-- Names the cause in the failure, if the last worker's event loop was blocked.
local function name_block(failure)
  local cause = value_of(record, 'blocked')
  if not cause then return failure end
  local named = string.sub(cjson.encode(cause), 2, -2) .. '. Read the logs'
  return (string.gsub(failure, 'Read the logs', function() return named end, 1))
end

local function settle_poison(wake, failure, retentionMs, closing)
  check_keys('HLEN', txt, 'ZCARD', ready)
  check_settlement('failed')
  close_open_calls(head_turn, closing)
  settle_head('failed', retentionMs, 'failure', name_block(failure))
  save_conversation('epoch', raise_epoch(), 'poison', wake, 'poisoned', head_turn)
end
