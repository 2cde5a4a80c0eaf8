-- Forms of the members of a shard's sorted sets. Ids are [A-Za-z0-9_.-]{1,128}.
local ID = '[%w_.%-]+'
local CONVERSATION = '|(' .. ID .. ')|(' .. ID .. ')$'
local FORMS = {
  ready = { '^(t)' .. CONVERSATION, '^(p)' .. CONVERSATION, '^(d)|(' .. ID .. ')|(' .. ID .. '|' .. ID .. ')$' },
  idle = { '^(r)' .. CONVERSATION },
  passes = { '^(p)' .. CONVERSATION },
  failed = { '^(' .. ID .. ')|(' .. ID .. ')|(' .. ID .. ')$' },
}

-- Returns kind, tenant and id of a member, or nothing if it has another form. The id of a scheduled turn includes the
-- turn.
local function read_member(set, member)
  for _, form in ipairs(FORMS[set]) do
    local kind, tenant, name = string.match(member, form)
    if kind and #member <= 400 then return kind, tenant, name end
  end
end
