-- Reads log entries in the requested order, up to the first missing one or a limit of bytes. The first entry is always read.
-- KEYS: log. ARGV: limit of bytes, seqs
-- Reply: entries
local most, bytes, entries = tonumber(ARGV[1]), 0, {}
for at = 2, #ARGV do
  local entry = redis.call('HGET', KEYS[1], ARGV[at])
  if not entry then break end
  bytes = bytes + #entry
  if at > 2 and bytes > most then break end
  entries[#entries + 1] = entry
end
return entries
