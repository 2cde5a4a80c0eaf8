#!lua flags=allow-oom
-- Compares the database with the one that the caller knows. If they differ, notes the loss in the record of the
-- database, and writes the record again. An empty or older database gets a new id. So every other process notices the
-- loss, even if the counter has grown past the number that the process knows. Runs on a full Redis.
-- `oldest`: the oldest supported schema. `knownId`, `knownCounter`: the database that the caller knows.
-- Reply: {'same' | 'empty' | 'older' | 'another', id, counter, note of the loss} | {'incompatible', schema, shards}
-- @keys database
-- @args schema, oldest, shards, knownId, knownCounter, newId
-- @include clock
local found_schema, found_shards, id, counter, note =
  unpack(redis.call('HMGET', database, 'schema', 'shards', 'id', 'counter', 'loss'))
local known_schema = tonumber(found_schema or '')
local is_supported = known_schema and known_schema >= tonumber(oldest) and known_schema <= tonumber(schema)
if found_schema and (not is_supported or found_shards ~= shards) then
  return { 'incompatible', found_schema, found_shards or '' }
end
local found = tonumber(counter or 0)
if id == knownId and found >= tonumber(knownCounter) then return { 'same', id, found, '' } end
-- Another process may have noticed the same loss before.
local noted, former_id = string.match(note or '', '^(%a+) %d+ (%S+)')
if id and former_id == knownId then return { noted, id, found, note } end
local loss = not found_schema and 'empty' or id == knownId and 'older' or 'another'
if loss ~= 'another' or not id then id = newId end
note = string.format('%s %.0f %s %s %.0f', loss, now, knownId, knownCounter, found)
if loss == 'empty' then found = tonumber(knownCounter) end
redis.call('HSET', database, 'schema', schema, 'shards', shards, 'id', id, 'loss', note)
redis.call('HSET', database, 'counter', string.format('%.0f', found))
return { loss, id, found, note }
