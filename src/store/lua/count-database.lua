#!lua flags=allow-oom
-- Raises the counter of the database, also on a full Redis.
-- `id`: the id that the caller knows.
-- Reply: the counter | -1 if the database has another id, or no id
-- @keys database
-- @args id
if redis.call('HGET', database, 'id') ~= id then return -1 end
return redis.call('HINCRBY', database, 'counter', 1)
