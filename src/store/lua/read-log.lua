-- A page of a log: entries in the order in which they are asked for, up to the first that is missing, and no more than so many
-- bytes besides the first one.
-- KEYS: log. ARGV: most bytes, seqs
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
