-- Include first: keys. Stores the answers of operations for repeated calls. An operation is named `id/hash`, with the
-- hash of its payload. The same id with another hash is refused.
local function split_operation(operation)
  return string.match(operation, '^([^/]*)/?(.*)$')
end

local function is_other_payload(operation, known)
  return operation ~= known and split_operation(operation) == split_operation(known or '/')
end

-- Returns the stored answer or nothing, and true if the id was used with another payload. The names of each `kind` are
-- separate.
local function find_answer(operation, kind)
  local id, hash = split_operation(operation)
  local known_hash, answer = string.match(redis.call('GET', operation_prefix .. kind .. id) or '', '^(%S*) (.*)$')
  if known_hash and known_hash ~= hash then return nil, true end
  return answer, false
end

-- Include first: index. Stores the answer of an operation.
local function keep_answer(operation, answer, keepMs, kind)
  local id, hash = split_operation(operation)
  redis.call('SET', operation_prefix .. kind .. id, hash .. ' ' .. answer, 'PX', keepMs)
  index_key('op:' .. kind .. id)
end
