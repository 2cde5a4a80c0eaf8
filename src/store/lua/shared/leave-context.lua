-- @include conversation
-- Makes the messages from seq `from` to the end of the log leave the context. The field `undo` lists their ranges until
-- a worker has made a version without them. The field `left` lists the newest ranges, with the cause of each, for
-- readers of the log. Both fields are staged.
local MAX_LEFT = 64

local function leave_context(from, why)
  local range = string.format('%s %.0f ', from, conversation.head)
  local entries = {}
  for entry in string.gmatch(value_of(record, 'left') or '', '%d+ %d+ [%a_]+') do entries[#entries + 1] = entry end
  entries[#entries + 1] = range .. why
  stage(record, 'undo', (value_of(record, 'undo') or '') .. range)
  stage(record, 'left', table.concat(entries, ' ', math.max(1, #entries - MAX_LEFT + 1)))
end
