-- The index `ix` lists the turns, streams, summaries and operations of a conversation, without tenant and conversation:
-- `t:<turn>`, `out:<turn>`, `sum:<hash>`, `op:<operation>`. So it takes 37 bytes a turn, where a set of whole names
-- took 104.
-- @include key-names
local own_prefix, own_id = string.match(c, '^({[^}]+}:[^:]+:)c:(.+)$')

-- Returns the key of a name. nil for a name of another form.
local function key_of(name)
  local kind, rest = string.match(name, '^(%l+):(.+)$')
  return kind and own_prefix .. kind .. ':' .. own_id .. ':' .. rest
end

-- True if the index has the wrong type, or is missing although the conversation exists. Every new conversation adds a
-- name.
local function is_index_lost()
  local size = redis.pcall('HLEN', ix)
  return type(size) ~= 'number' or size == 0 and redis.call('EXISTS', c) == 1
end
