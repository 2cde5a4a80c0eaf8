-- Reads the last seq of the log and a context version in one moment. So the version never refers to messages after that
-- seq.
-- ARGV: number of the version, or '' for the live one
-- Reply: {head, number, version as JSON or ''} | {} without a conversation
-- @include key-names
local state = redis.call('HMGET', c, 'head', 'version')
if not state[1] then return {} end
local number = ARGV[1] ~= '' and ARGV[1] or state[2] or '0'
return { tonumber(state[1]), tonumber(number), redis.call('HGET', ver, number) or '' }
