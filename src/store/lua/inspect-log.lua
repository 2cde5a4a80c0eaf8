-- Reads what decides which log entries are packed, in one moment.
-- ARGV: ms without a new entry after which the conversation is idle
-- Reply: {} without a conversation | {head, number of the live version, version as JSON or '', ms until the conversation is idle
-- if it stays unused, names of the packs}
-- @include key-names
-- @include packs
local head, number, fork_until = unpack(redis.call('HMGET', c, 'head', 'version', 'forkUntil'))
if not head then return {} end
local entry = redis.call('HGET', log, head)
local written = entry and string.match(entry, '^%S+ %S+ %S+ %S+ (%d+)') or now
local is_busy = redis.call('LLEN', mb) > 0 or redis.call('EXISTS', pass) == 1 or tonumber(fork_until or 0) > now
local idle_in = is_busy and tonumber(ARGV[1]) or math.max(0, written + ARGV[1] - now)
return { tonumber(head), tonumber(number or 0), redis.call('HGET', ver, number or '0') or '', idle_in, redis.call('HKEYS', packs) }
