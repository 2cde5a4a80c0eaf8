-- Writes the settings of a new database. In an older database it raises the schema number, so that older programs
-- refuse to open the database. A database with another number of shards is not changed.
-- KEYS: database. ARGV: schema, shards
-- Reply: {schema, shards} as stored
local database = KEYS[1]
local schema, shards = tonumber(ARGV[1]), ARGV[2]
redis.call('HSETNX', database, 'schema', schema)
redis.call('HSETNX', database, 'shards', shards)
local found = redis.call('HMGET', database, 'schema', 'shards')
if tonumber(found[1]) >= schema or found[2] ~= shards then return { tonumber(found[1]), tonumber(found[2]) } end
redis.call('HSET', database, 'schema', schema)
return { schema, tonumber(shards) }
