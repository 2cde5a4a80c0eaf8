-- Removes the keys of a conversation in batches. The key `gone` must exist.
-- @include idle-ttl
-- @include turn-lists
-- @include open-passes
-- @include index-names
-- @include packing
-- @include conversation-lists
local ERASE_GRACE_MS = 5000
local framed_name = '|' .. tenant .. '|' .. id .. '|'

-- Takes up to `size` names out of the index. Returns nil if the index cannot be read, or has only names of unknown
-- forms.
local function take_names(size)
  local names, readable = redis.pcall('HRANDFIELD', ix, size), {}
  if names.err then return nil end
  for _, name in ipairs(names) do
    if key_of(name) then readable[#readable + 1] = name end
  end
  if #readable > 0 then redis.call('HDEL', ix, unpack(readable)) end
  return (#readable > 0 or #names == 0) and readable or nil
end

-- True if a field of the hash `quarantined` names this conversation: as a member of a set, or as a key.
local function names_conversation(field)
  if string.find(field .. '|', framed_name, 1, true) then return true end
  local key_tenant, key_id = string.match(field, '^key|{[^}]+}:([^:]+):%l+:([^:]+)')
  return key_tenant == tenant and key_id == id
end

local function remove_fields(hash)
  local removed, cursor = {}, '0'
  repeat
    local reply = redis.pcall('HSCAN', hash, cursor, 'COUNT', 1000)
    if reply.err then break end
    cursor = reply[1]
    for at = 1, #reply[2], 2 do
      local field = reply[2][at]
      if names_conversation(field) then
        redis.call('HDEL', hash, field)
        removed[#removed + 1] = field
      end
    end
  until cursor == '0'
  return removed
end

-- Removes the conversation from the outbox of webhooks and from the quarantine. Damage in these hashes does not stop
-- the erase.
local function forget_notes()
  for _, name in ipairs(remove_fields(shard_prefix .. 'outbox:positions')) do
    redis.pcall('ZREM', shard_prefix .. 'outbox', name)
  end
  remove_fields(shard_prefix .. 'quarantined')
end

-- Removes the conversation's own keys, then up to `size` keys of the index. find_loss relies on this order. Returns the
-- number of keys removed so far, then 1 if keys are left, 2 if the index does not name them. The entry in `idle` stays
-- meanwhile, so a sweep continues an interrupted erase.
local function erase_batch(size)
  local head = redis.pcall('LINDEX', mb, 0)
  if type(head) == 'string' then forget_waiting(head) end
  forget_conversation()
  forget_recent()
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
