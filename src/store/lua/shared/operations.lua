-- The answer to an operation is kept for repeated calls. The operation is named `id/hash`, with the hash of its
-- payload. The same id with another hash is refused. Each `kind` has names of its own.
-- @include index
local function split_operation(operation)
  return string.match(operation, '^([^/]*)/?(.*)$')
end

local function is_other_payload(operation, known)
  return operation ~= known and split_operation(operation) == split_operation(known or '/')
end

-- Returns the stored answer or nil, and true if the id was used with another payload.
local function find_answer(operation, kind)
  local id, hash = split_operation(operation)
  local known_hash, answer = string.match(redis.call('GET', operationPrefix .. kind .. id) or '', '^(%S*) (.*)$')
  if known_hash and known_hash ~= hash then return nil, true end
  return answer, false
end

local function keep_answer(operation, answer, keepMs, kind)
  local id, hash = split_operation(operation)
  redis.call('SET', operationPrefix .. kind .. id, hash .. ' ' .. answer, 'PX', keepMs)
  index_key('op:' .. kind .. id)
end
