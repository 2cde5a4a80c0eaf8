-- Reads at one moment the facts that decide which log entries are packed.
-- `idleMs`: ms without a new entry after which the conversation is idle.
-- Reply: {} without a conversation | {head, number of the live version, version as JSON or '', ms until the
-- conversation is idle if it stays unused, seq of the present turn's user message or 0, names of the packs}
-- @args idleMs
-- @include corrupt
-- @include packing
local head, number, fork_until, created = unpack(redis.call('HMGET', c, 'head', 'version', 'forkUntil', 'created'))
if not head then return {} end
local names = redis.pcall('HKEYS', packs)
if names.err then return corrupt(packs, '') end
local turn = redis.call('LINDEX', mb, 0)
local input_seq = turn and redis.call('HGET', turnPrefix .. turn, 'inputSeq')
local entry = redis.call('HGET', log, head)
local written = entry and string.match(entry, '^%S+ %S+ %S+ %S+ (%d+)') or now
-- The log entries of a fork keep the times of the source, so the creation time counts, too.
local used = math.max(written, math.floor(tonumber(created or 0) * 1000))
local is_busy = turn or redis.call('EXISTS', pass) == 1 or tonumber(fork_until or 0) > now
local idle_in = is_busy and tonumber(idleMs) or math.max(0, used + idleMs - now)
return { tonumber(head), tonumber(number or 0), redis.call('HGET', ver, number or '0') or '', idle_in,
  tonumber(input_seq or 0), names }
