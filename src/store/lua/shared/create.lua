-- Creates a conversation. The calling script has the arguments `ownedBy` and `title`, '' for none.
-- @include ready
-- @include recent
-- @include validate

-- Returns the reply to a request with another agent or owner, or to any write during a fork. Otherwise returns nil, and
-- agent and owner if the conversation exists. One agent answers in a conversation, because a compaction pass has one
-- policy.
local function find_refusal(is_gone, agent)
  local known = is_gone and {} or redis.call('HMGET', c, 'agent', 'forking', 'forkUntil', 'ownedBy')
  -- An unfinished fork has no agent yet.
  if known[2] then
    -- @include fork
    return forking_reply(known[3])
  end
  if known[1] and known[1] ~= agent then return { 'other_agent', known[1] } end
  if known[1] and ownedBy ~= '' and known[4] ~= ownedBy then return { 'other_owner' } end
  return nil, known[1], known[4]
end

-- Creates a conversation. After an erase or an abandoned fork, removes the keys that are left, and the key `gone`. An
-- erase in progress then stops, because every batch checks `gone`. At 20,000 turns this blocks Redis for 0.5 s. Batches
-- are impossible, because the turns of the new conversation have the same key names.
local function create_conversation(is_gone, schema, agent)
  if is_gone then
    -- @include shard-lists
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
    -- @include shard-lists
    list_conversation()
    put(record, 'schema', schema, 'agent', agent, 'head', 0, 'created', clock[1] .. '.' .. clock[2])
    if is_gone then put(record, 'recreated', 1) end
    if ownedBy ~= '' then put(record, 'ownedBy', ownedBy) end
    if title ~= '' then put(record, 'title', title) end
  end
end
