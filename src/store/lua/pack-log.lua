#!lua flags=allow-oom
-- Replaces log entries by a pack, also on a full Redis, because packing frees memory. Nothing is written if an entry in
-- the log differs from the packed entry, or if scripts still read that entry. Scripts read the last entry, and the user
-- message of the present turn.
-- `digest`: SHA-1 of the entries joined by line ends. The seqs of the entries follow in ascending order.
-- Reply: 'packed' | 'changed'
-- @args name, value, digest, ...
-- @include keys
-- @include packing
local seqs = { unpack(ARGV, rest) }
check_keys('HLEN', packs)
local turn = redis.call('LINDEX', mb, 0)
local input_seq = turn and redis.call('HGET', turnPrefix .. turn, 'inputSeq')
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
