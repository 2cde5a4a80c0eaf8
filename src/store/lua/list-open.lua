-- Lists the unsettled turns of a conversation (I2) at one moment: the mailbox, then the scheduled turns.
-- The arguments after `limit` are the turns that `ready` listed as scheduled a moment ago, by due time. After an erase,
-- the sweep removes these entries.
-- Reply: {length of the mailbox, scheduled turns, time of Redis, {turn, state, acceptedAt, dueAt, WAIT_FIELDS in
-- turn-record.ts}…} | {} without a conversation
-- @args limit, ...
-- @include key-names
if redis.call('EXISTS', c) == 0 then return {} end
local rows = {}
local function add(turn)
  if #rows >= tonumber(limit) then return end
  local fields = { 'state', 'acceptedAt', 'dueAt', 'waitFor', 'waitStep', 'waitSince', 'waitUntil', 'waitCalls',
    'waitArguments', 'decisions' }
  rows[#rows + 1] = { turn, unpack(redis.call('HMGET', turnPrefix .. turn, unpack(fields))) }
end
for _, turn in ipairs(redis.call('LRANGE', mb, 0, limit - 1)) do add(turn) end
local scheduled = 0
for at = rest, #ARGV do
  if redis.call('HGET', turnPrefix .. ARGV[at], 'state') == 'scheduled' then
    scheduled = scheduled + 1
    add(ARGV[at])
  end
end
return { redis.call('LLEN', mb), scheduled, now, unpack(rows) }
