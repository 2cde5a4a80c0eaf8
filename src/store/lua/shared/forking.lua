-- Requires: keys. Defines: forking_reply.
-- Reply to a writer that a fork does not accept yet. The second value is 1 if the fork's lease has lapsed.
local function forking_reply(untilMs)
  return { 'forking', tonumber(untilMs or 0) <= now and 1 or 0 }
end
