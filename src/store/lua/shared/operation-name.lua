-- Requires: nothing. Defines: split_operation, is_other_payload. The name of an operation is `id/hash`: its id, and the
-- hash of its payload. A repeated call has the same name. The same id with another hash is refused.
local function split_operation(operation)
  return string.match(operation, '^([^/]*)/?(.*)$')
end

local function is_other_payload(operation, known)
  return operation ~= known and split_operation(operation) == split_operation(known or '/')
end
