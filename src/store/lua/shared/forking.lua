-- Requires: keys. Defines: forking_reply.
-- Returns the reply to a writer while a fork is copied. The second value is 1 if the fork's lease has lapsed.
local function forking_reply(untilMs)
  return { 'forking', number_of(c, 'forkUntil', untilMs or '0') <= now and 1 or 0 }
end
