-- Reads the secret that signs the conversation tokens of a tenant. Creates it if it is missing and `newId` is given.
-- Replaces it if `graceMs` is given, and keeps the former secret for that time.
-- Reply: {now, {field, value…}}, without fields if there is no secret
-- @keys secrets
-- @args newId, newSecret, graceMs
-- @include clock
local id, secret = unpack(redis.call('HMGET', secrets, 'id', 'secret'))
if newId ~= '' and not id then
  redis.call('HSET', secrets, 'id', newId, 'secret', newSecret, 'createdAt', now)
elseif graceMs ~= '' and id ~= newId then
  redis.call('HSET', secrets, 'id', newId, 'secret', newSecret, 'createdAt', now, 'previousId', id, 'previousSecret', secret,
    'previousUntil', now + graceMs)
end
return { now, redis.call('HGETALL', secrets) }
