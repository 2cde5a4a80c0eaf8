-- Reads agent, owner, title, times and metadata of a conversation. Writes nothing.
-- Reply: {agent, owner or '', title or '', time of creation or '', time of the last message or '', metadata or ''} | {}
-- @include about
return about_reply()
