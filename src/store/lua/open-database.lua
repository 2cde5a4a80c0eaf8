-- Writes the settings of a new database. In an older database that this program supports, it raises the schema number, so
-- that older programs refuse to open the database. It changes nothing in any other database.
-- KEYS: database. ARGV: schema, oldest supported schema, shards
-- Reply: {schema, shards} as stored, '' for a missing field
local database = KEYS[1]
local schema, oldest, shards = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]
local found = redis.call('HMGET', database, 'schema', 'shards')
if not found[1] and not found[2] then
  redis.call('HSET', database, 'schema', ARGV[1], 'shards', shards)
  return { ARGV[1], shards }
end
local known = tonumber(found[1] or '')
if known and known >= oldest and known < schema and found[2] == shards then
  redis.call('HSET', database, 'schema', ARGV[1])
  return { ARGV[1], shards }
end
return { found[1] or '', found[2] or '' }
