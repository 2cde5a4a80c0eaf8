-- Adds conversations of an earlier release to the lists of a shard by time. Their time is that of the last settled turn,
-- or of the creation. Each call adds the next `maxNames`, in the order of their names. A listed conversation keeps its
-- time.
-- `indexed`: the last name that was added, or '|' once the shard is complete.
-- Reply: 1 once the shard is complete, else 0
-- @keys conversations, indexed
-- @args shard, maxNames
local done = redis.call('GET', indexed) or ''
if done == '|' then return 1 end
local names = redis.call('ZRANGEBYLEX', conversations, done == '' and '-' or '(' .. done, '+', 'LIMIT', 0, maxNames)
for _, name in ipairs(names) do
  local tenant, id = string.match(name, '^([^|]+)|(.+)$')
  local base = shard .. (tenant or '') .. ':'
  local fields = tenant and redis.pcall('HMGET', base .. 'c:' .. id, 'created', 'last', 'ownedBy') or {}
  local created = tonumber(fields[1] and string.match(fields[1], '^%d+') or 0) * 1000
  local at = math.max(created, tonumber(fields[2] and string.match(fields[2], ' (%d+)$') or 0))
  if at > 0 then
    redis.pcall('ZADD', base .. 'recent', 'NX', string.format('%.0f', at), id)
    if fields[3] then redis.pcall('ZADD', base .. 'by-owner:' .. fields[3], 'NX', string.format('%.0f', at), id) end
  end
end
local is_complete = #names < tonumber(maxNames)
-- A shard without conversations needs no mark. New conversations are listed when they are created.
if #names > 0 then redis.call('SET', indexed, is_complete and '|' or names[#names]) end
return is_complete and 1 or 0
