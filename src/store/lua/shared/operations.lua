-- Requires: keys, index. Defines: find_answer, keep_answer, and those of operation-name. The answer to an operation is kept
-- under the operation's id, behind the hash of its payload. Answers of one `kind` have names of their own.
-- @include operation-name

-- Returns the kept answer or nothing, and true if the id was used with another payload.
local function find_answer(operation, kind)
  local id, hash = split_operation(operation)
  local known_hash, answer = string.match(redis.call('GET', operation_prefix .. kind .. id) or '', '^(%S*) (.*)$')
  if known_hash and known_hash ~= hash then return nil, true end
  return answer, false
end

local function keep_answer(operation, answer, keepMs, kind)
  local id, hash = split_operation(operation)
  redis.call('SET', operation_prefix .. kind .. id, hash .. ' ' .. answer, 'PX', keepMs)
  index_key('op:' .. kind .. id)
end
