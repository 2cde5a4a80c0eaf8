-- Writes the settings of a new database. Raises the schema number of an older, supported one, so that older programs
-- refuse it. A database without an id gets the new id. Any other database stays unchanged.
-- KEYS: database. ARGV: schema, oldest supported schema, shards, id of a new database
-- Reply: {schema, shards, id, counter} as stored, '' for a missing field
local database = KEYS[1]
local schema, oldest, shards, id = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3], ARGV[4]
local stored, stored_shards = unpack(redis.call('HMGET', database, 'schema', 'shards'))
local known = tonumber(stored or '')
local is_new = not stored and not stored_shards
if is_new or known and known >= oldest and known <= schema and stored_shards == shards then
  redis.call('HSET', database, 'schema', ARGV[1], 'shards', shards)
  redis.call('HSETNX', database, 'id', id)
  redis.call('HSETNX', database, 'counter', 0)
end
local found = redis.call('HMGET', database, 'schema', 'shards', 'id', 'counter')
for at = 1, 4 do found[at] = found[at] or '' end
return found
