-- The keys of one conversation, in the order of Keyspace.conversation, and the time. Alone for scripts that write nothing, and
-- for those that remove a conversation: they work on corrupt records, too.
-- @include clock
local c, log, mb, ver, cp, pass, ix, ev, gone, ready, tbase, sumbase, opbase = unpack(KEYS)
