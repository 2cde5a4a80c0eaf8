-- Reads log entries in the requested order, until a limit of bytes is reached. The first entry is always returned.
-- KEYS: log. ARGV: limit of bytes, seqs to read
-- Reply: the entries that were read, '' for each that the log does not hold
local most, bytes, entries = tonumber(ARGV[1]), 0, {}
for at = 2, #ARGV do
  local entry = redis.call('HGET', KEYS[1], ARGV[at]) or ''
  bytes = bytes + #entry
  if at > 2 and bytes > most then break end
  entries[#entries + 1] = entry
end
return entries
