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

-- If the index key has the wrong type, the keys that it listed are unknown. The listed keys disappear when they expire.
local function take_names(size)
  local names = redis.pcall('HRANDFIELD', ix, size)
  if names.err then redis.call('UNLINK', ix) elseif #names > 0 then redis.call('HDEL', ix, unpack(names)) end
  return names
end

-- Removes the conversation's own keys, then up to `size` of the keys that the index `ix` lists. find_loss relies on
-- this order. Returns how many keys were removed so far, and 1 if keys are left. While keys are left, the
-- conversation's entry in `idle` stays, so a sweep continues an interrupted erase.
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
  for _, name in ipairs(take_names(size)) do
    local key = key_of(name)
    if key then removed = removed + redis.call('UNLINK', key) end
    if string.sub(name, 1, 2) == 't:' then forget_turn(string.sub(name, 3)) end
  end
  local has_more = redis.call('EXISTS', ix)
  if has_more == 1 then schedule_idle_check(now + ERASE_GRACE_MS) else forget_idle_ttl() end
  return redis.call('INCRBY', gone, removed), has_more
end
