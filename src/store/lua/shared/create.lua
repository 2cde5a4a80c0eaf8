-- Creates a conversation. The calling script has the arguments `ownedBy` and `title`, '' for none.
-- @include ready
-- @include conversation-lists
-- @include validate

-- Returns the reply to a request with another agent or owner, or to any write during a fork. Otherwise returns nil, and
-- agent and owner if the conversation exists. One agent answers in a conversation, because a compaction pass has one
-- policy.
local function find_refusal(is_gone, agent)
  if is_gone then return nil end
  if not record.is_whole then read_fields(record, { 'agent', 'forking', 'forkUntil', 'ownedBy', 'schema' }) end
  local known = record.values
  -- An unfinished fork has no agent yet.
  if known.forking then
    -- @include fork
    return forking_reply(known.forkUntil)
  end
  if known.agent and known.agent ~= agent then return { 'other_agent', known.agent } end
  if known.agent and ownedBy ~= '' and known.ownedBy ~= ownedBy then return { 'other_owner' } end
  return nil, known.agent, known.ownedBy
end

-- Creates a conversation. After an erase or an abandoned fork, removes the keys that are left, and the key `gone`. An
-- erase in progress then stops, because every batch checks `gone`. At 20,000 turns this blocks Redis for 0.5 s. Batches
-- are impossible, because the turns of the new conversation have the same key names. The caller's next `put` to the
-- record writes its first fields.
local function create_conversation(is_gone, schema, agent)
  if is_gone then
    -- @include turn-lists
    -- @include idle-ttl
    check_keys('ZCARD', failed, 'ZCARD', idle)
    -- @include index-names
    local names = redis.call('HKEYS', ix)
    for _, name in ipairs(names) do
      if not key_of(name) then refuse(ix, '') end
    end
    for _, name in ipairs(names) do
      redis.call('UNLINK', key_of(name))
      if string.sub(name, 1, 2) == 't:' then forget_turn(string.sub(name, 3)) end
    end
    -- @include packing
    forget_recent()
    redis.call('UNLINK', c, log, packs, mb, ver, txt, pass, ix, ev, gone, expiry)
    record.values = {}
    unschedule(turn_member)
    unschedule(pass_member)
    forget_idle_ttl()
  end
  if not value_of(record, 'schema') then
    list_conversation()
    stage(record, 'schema', schema, 'agent', agent, 'head', 0, 'created', clock[1] .. '.' .. clock[2])
    if is_gone then stage(record, 'recreated', 1) end
    if ownedBy ~= '' then stage(record, 'ownedBy', ownedBy) end
    if title ~= '' then stage(record, 'title', title) end
  end
end
