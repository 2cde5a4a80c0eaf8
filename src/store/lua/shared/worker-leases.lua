-- The owner ids in a worker's leases begin with the worker's name. To find its claims on summaries, at most
-- `names_left` names of keys are searched. Other claims lapse within 8 s.
local names_left = 20000

local function starts_with(text, prefix)
  return type(text) == 'string' and string.sub(text, 1, #prefix) == prefix
end

-- Returns the worker's claims on summaries of a conversation: pairs of a key and its name in the index.
local function find_claims(base, id, claims)
  local index, prefix, found = base .. 'ix:' .. id, base .. 'sum:' .. id .. ':', {}
  local count = redis.pcall('HLEN', index)
  if type(count) ~= 'number' or count > names_left then return found end
  names_left = names_left - count
  for _, name in ipairs(redis.pcall('HKEYS', index)) do
    local key = prefix .. string.sub(name, 5)
    if starts_with(name, 'sum:') and starts_with(redis.pcall('GET', key), claims) then
      found[#found + 1] = { key, name }
    end
  end
  return found
end
