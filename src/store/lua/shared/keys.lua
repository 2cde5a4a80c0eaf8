-- The keys of one conversation, in the order of Keyspace.conversation, and the time.
-- @include clock
local c, log, mb, ver, cp, pass, ix, ev, gone, ready, tbase, sumbase, opbase = unpack(KEYS)
