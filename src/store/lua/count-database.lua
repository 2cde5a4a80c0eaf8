#!lua flags=allow-oom
-- Raises the counter of the database, also on a full Redis.
-- KEYS: database. ARGV: id of the database that the caller knows
-- Reply: the counter | -1 if the database has another id or none
local database, id = KEYS[1], ARGV[1]
if redis.call('HGET', database, 'id') ~= id then return -1 end
return redis.call('HINCRBY', database, 'counter', 1)
