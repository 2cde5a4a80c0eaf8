-- The sums of model usage of a conversation, and of its tenant, which has a hash in each shard. A damaged hash of the
-- tenant does not stop a settlement (I12).
-- @include record
local SPENT = { 'inputTokens', 'outputTokens', 'cachedTokens', 'costMicros' }

-- Adds the usage (up to four values in the order of SPENT), and returns the usage as the values of an event.
local function add_spending(usage)
  local is_spent = false
  for at = 1, #SPENT do is_spent = is_spent or tonumber(usage[at] or 0) > 0 end
  if not is_spent then return {} end
  local before = { string.match(value_of(record, 'spent') or '', '^(%d+) (%d+) (%d+) (%d+)$') }
  local tenant_usage = string.match(c, '^({[^}]+}:[^:]+:)c:') .. 'usage'
  local sums, values = {}, {}
  for at, name in ipairs(SPENT) do
    local amount = tonumber(usage[at] or 0)
    sums[at] = string.format('%.0f', tonumber(before[at] or 0) + amount)
    if amount > 0 then
      redis.pcall('HINCRBY', tenant_usage, name, string.format('%.0f', amount))
      values[#values + 1] = name
      values[#values + 1] = string.format('%.0f', amount)
    end
  end
  put(record, 'spent', table.concat(sums, ' '))
  return values
end
