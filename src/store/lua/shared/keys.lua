-- The keys of one conversation, in the order of Keyspace.conversation, and the time. One clock inside scripts: Redis TIME.
local c, log, mb, ver, cp, pass, ix, ev, gone, ready, tbase, sumbase, opbase = unpack(KEYS)
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
