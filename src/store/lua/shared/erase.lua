-- Requires: keys, ready, an existing key `gone`. Defines: take_names, erase_batch.
-- @include idle-ttl
-- @include failed
-- @include open-passes
-- @include conversations
-- @include index-names
-- @include packs
-- @include unpacked
-- @include shard-notes
local ERASE_GRACE_MS = 5000

-- Takes up to `size` names out of the index. Names of another form stay. Returns nil if no other names are left, or if the
-- index has the wrong type.
local function take_names(size)
  local names, readable = redis.pcall('HRANDFIELD', ix, size), {}
  if names.err then return nil end
  for _, name in ipairs(names) do
    if key_of(name) then readable[#readable + 1] = name end
  end
  if #readable > 0 then redis.call('HDEL', ix, unpack(readable)) end
  return (#readable > 0 or #names == 0) and readable or nil
end

-- Removes the conversation's own keys, then up to `size` of the keys that the index `ix` lists. find_loss relies on
-- this order. Returns how many keys were removed so far, and 1 if keys are left, or 2 if the index does not tell which. While
-- keys are left, the conversation's entry in `idle` stays, so a sweep continues an interrupted erase.
local function erase_batch(size)
  local head = redis.pcall('LINDEX', mb, 0)
  if type(head) == 'string' then forget_waiting(head) end
  forget_conversation()
  local removed = redis.call('UNLINK', c, log, packs, mb, ver, txt, pass, ev)
  redis.pcall('ZREM', unpacked, unpacked_member)
  unschedule(turn_member)
  unschedule(pass_member)
  remove_open_pass()
  forget_notes()
  local names = take_names(size)
  for _, name in ipairs(names or {}) do
    removed = removed + redis.call('UNLINK', key_of(name))
    if string.sub(name, 1, 2) == 't:' then forget_turn(string.sub(name, 3)) end
  end
  local has_more = names and redis.call('EXISTS', ix) or 2
  if has_more > 0 then schedule_idle_check(now + ERASE_GRACE_MS) else forget_idle_ttl() end
  return redis.call('INCRBY', gone, removed), has_more
end
