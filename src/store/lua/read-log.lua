-- Reads log entries in the requested order, until a limit of bytes is reached. The first entry is always returned.
-- The seqs to read follow.
-- Reply: the entries that were read, '' for each that the log does not hold
-- @keys log
-- @args maxBytes, ...
local bytes, entries = 0, {}
for at = rest, #ARGV do
  local entry = redis.call('HGET', log, ARGV[at]) or ''
  bytes = bytes + #entry
  if #entries > 0 and bytes > tonumber(maxBytes) then break end
  entries[#entries + 1] = entry
end
return entries
