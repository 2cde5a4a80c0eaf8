-- Reads an access key together with the time, so that no other clock decides whether the key has expired. Writes
-- nothing.
-- Reply: {now, {field, value…}}, without fields if the key is unknown
-- @keys key
-- @include clock
return { now, redis.call('HGETALL', key) }
