-- Requires: nothing. Defines: the keys of one conversation, in the order of Keyspace.conversation, and the time.
-- Scripts that only read, or that remove a conversation, include this file alone: they work on corrupt records too.
-- @include clock
local c, log, mb, ver, cp, pass, ix, ev, gone, ready, tbase, sumbase, opbase = unpack(KEYS)
