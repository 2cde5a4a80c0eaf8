-- Reads a version, the last seq of the log and the running turn's seqs in one moment. So the version never refers to
-- later messages.
-- `wanted`: number of the version, '' for the live one.
-- Reply: {head, number, version as JSON or '', turns and the seq of the user message of each} | {} without a
-- conversation
-- @args wanted
-- @include key-names
local head, live = unpack(redis.call('HMGET', c, 'head', 'version'))
if not head then return {} end
local number = wanted ~= '' and wanted or live or '0'
local inputs = {}
for at, turn in ipairs(redis.call('LRANGE', mb, 0, -1)) do
  local seq, steered_into = unpack(redis.call('HMGET', turnPrefix .. turn, 'inputSeq', 'steeredInto'))
  -- In the mailbox, the turns that steered the first turn stand directly behind it.
  if not seq or (at > 1 and not steered_into) then break end
  inputs[2 * at - 1], inputs[2 * at] = turn, seq
end
return { tonumber(head), tonumber(number), redis.call('HGET', ver, number) or '', inputs }
