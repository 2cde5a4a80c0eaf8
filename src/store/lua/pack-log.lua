#!lua flags=allow-oom
-- Replaces log entries by a pack, also on a full Redis, because it frees memory. Nothing is written if an entry in the
-- log differs from the packed entry, or if scripts still read that entry. Scripts read the last entry, and the user
-- message of the present turn.
-- ARGV: name of the pack, its value, SHA-1 of the entries joined by line ends, their seqs in ascending order
-- Reply: 'packed' | 'changed'
-- @include keys
-- @include ready
-- @include packing
local name, value, digest = ARGV[1], ARGV[2], ARGV[3]
local seqs = { unpack(ARGV, 4) }
check_keys('HLEN', packs)
local turn = redis.call('LINDEX', mb, 0)
local input_seq = turn and redis.call('HGET', turn_prefix .. turn, 'inputSeq')
if tonumber(seqs[#seqs]) >= tonumber(value_of(record, 'head') or 0) then return 'changed' end
local entries = redis.call('HMGET', log, unpack(seqs))
for at, seq in ipairs(seqs) do
  if not entries[at] or seq == input_seq then return 'changed' end
end
if redis.sha1hex(table.concat(entries, '\n')) ~= digest then return 'changed' end
put(record, 'packed', string.format('%.0f', tonumber(value_of(record, 'packed') or 0) + #seqs))
redis.call('HSET', packs, name, value)
redis.call('HDEL', log, unpack(seqs))
return 'packed'
