-- Turns that are accepted and not settled (I2), as they stand at one moment: the mailbox, then the scheduled ones.
-- ARGV: limit, then turns that had an entry for a due time a moment ago, by that time. Such an entry may outlive its turn: an
-- erase leaves it to the sweep.
-- Reply: {length of the mailbox, scheduled turns, {turn, state, acceptedAt, dueAt, WAIT_FIELDS in turn-record.ts}…} | {} where
-- there is no conversation
-- @include key-names
if redis.call('EXISTS', c) == 0 then return {} end
local limit = tonumber(ARGV[1])
local rows = {}
local function add(turn)
  if #rows >= limit then return end
  local fields = { 'state', 'acceptedAt', 'dueAt', 'wfor', 'wstep', 'wsince', 'wuntil', 'wcalls', 'wasks' }
  rows[#rows + 1] = { turn, unpack(redis.call('HMGET', tbase .. turn, unpack(fields))) }
end
for _, turn in ipairs(redis.call('LRANGE', mb, 0, limit - 1)) do add(turn) end
local scheduled = 0
for at = 2, #ARGV do
  if redis.call('HGET', tbase .. ARGV[at], 'state') == 'scheduled' then
    scheduled = scheduled + 1
    add(ARGV[at])
  end
end
return { redis.call('LLEN', mb), scheduled, unpack(rows) }
