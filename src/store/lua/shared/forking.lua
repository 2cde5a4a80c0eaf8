-- Needs: keys. The reply to who may not write to a fork yet: 1 where nobody has copied for as long as its lease.
local function forking_reply(untilMs)
  return { 'forking', tonumber(untilMs or 0) <= now and 1 or 0 }
end
