-- Lists all webhooks with their health. Writes nothing.
-- KEYS: webhooks. ARGV: prefix of the keys of their health
-- Reply: {{id, JSON, {field, value…}}…}
local flat, rows = redis.call('HGETALL', KEYS[1]), {}
for at = 1, #flat, 2 do
  rows[#rows + 1] = { flat[at], flat[at + 1], redis.call('HGETALL', ARGV[1] .. flat[at]) }
end
return rows
