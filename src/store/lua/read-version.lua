-- Reads a version, the last seq of the log and the running turn's seqs in one moment. So the version never refers to
-- later messages.
-- ARGV: number of the version, or '' for the live one
-- Reply: {head, number, version as JSON or '', turns and the seq of the user message of each} | {} without a
-- conversation
-- @include key-names
local state = redis.call('HMGET', c, 'head', 'version')
if not state[1] then return {} end
local number = ARGV[1] ~= '' and ARGV[1] or state[2] or '0'
local inputs = {}
for at, turn in ipairs(redis.call('LRANGE', mb, 0, -1)) do
  local seq, steered_into = unpack(redis.call('HMGET', turn_prefix .. turn, 'inputSeq', 'steeredInto'))
  -- In the mailbox, the turns that steered the first turn stand directly behind it.
  if not seq or (at > 1 and not steered_into) then break end
  inputs[2 * at - 1], inputs[2 * at] = turn, seq
end
return { tonumber(state[1]), tonumber(number), redis.call('HGET', ver, number) or '', inputs }
