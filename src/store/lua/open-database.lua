-- Writes the settings of a new database. In an older database it raises the schema number, so that older programs
-- refuse to open the database. A database with another number of shards is not changed. A database without an id gets one.
-- KEYS: database. ARGV: schema, shards, id of a new database
-- Reply: {schema, shards, id, counter} as stored
local database = KEYS[1]
local schema, shards, id = tonumber(ARGV[1]), ARGV[2], ARGV[3]
redis.call('HSETNX', database, 'schema', schema)
redis.call('HSETNX', database, 'shards', shards)
local found = redis.call('HMGET', database, 'schema', 'shards')
if tonumber(found[1]) > schema or found[2] ~= shards then return { tonumber(found[1]), tonumber(found[2]), '', 0 } end
redis.call('HSET', database, 'schema', schema)
redis.call('HSETNX', database, 'id', id)
redis.call('HSETNX', database, 'counter', 0)
found = redis.call('HMGET', database, 'id', 'counter')
return { schema, tonumber(shards), found[1], tonumber(found[2]) }
