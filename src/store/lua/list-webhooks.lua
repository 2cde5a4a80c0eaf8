-- Lists all webhooks with their health. Writes nothing.
-- Reply: {{id, JSON, {field, value…}}…}
-- @keys webhooks
-- @args healthPrefix
local flat, rows = redis.call('HGETALL', webhooks), {}
for at = 1, #flat, 2 do
  rows[#rows + 1] = { flat[at], flat[at + 1], redis.call('HGETALL', healthPrefix .. flat[at]) }
end
return rows
