-- Owner, title and metadata of a conversation. Metadata is in `txt`, because a long value would end the compact
-- encoding of the record.
-- @include conversation-lists
local METADATA = 'metadata'

local function about_reply()
  local schema, agent, fork_agent, owner, title, created =
    unpack(redis.call('HMGET', c, 'schema', 'agent', 'forkAgent', 'ownedBy', 'title', 'created'))
  if not schema then return {} end
  local at, metadata = redis.pcall('ZSCORE', tenant_prefix .. 'recent', id), redis.pcall('HGET', txt, METADATA)
  return { fork_agent or agent or '', owner or '', title or '', created or '', type(at) == 'string' and at or '',
    type(metadata) == 'string' and metadata or '' }
end
