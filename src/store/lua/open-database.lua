-- Writes the settings of a new database. Raises the schema number of an older, supported database, so that older
-- programs refuse that database. A database without an id gets the new id. Any other database stays unchanged.
-- `oldest`: the oldest supported schema.
-- Reply: {schema, shards, id, counter} as stored, '' for a missing field
-- @keys database
-- @args schema, oldest, shards, newId
local stored, stored_shards = unpack(redis.call('HMGET', database, 'schema', 'shards'))
local known = tonumber(stored or '')
local is_new = not stored and not stored_shards
if is_new or known and known >= tonumber(oldest) and known <= tonumber(schema) and stored_shards == shards then
  redis.call('HSET', database, 'schema', schema, 'shards', shards)
  redis.call('HSETNX', database, 'id', newId)
  redis.call('HSETNX', database, 'counter', 0)
end
local found = redis.call('HMGET', database, 'schema', 'shards', 'id', 'counter')
for at = 1, 4 do found[at] = found[at] or '' end
return found
