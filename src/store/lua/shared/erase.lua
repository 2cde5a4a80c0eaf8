-- Needs: keys, ready; the mark `gone`.
-- @include idle-ttl
-- @include failed
-- @include open-passes
-- @include conversations
local ERASE_GRACE_MS = 5000

-- An index of another type names nothing: what it named goes by its own time to live, if ever.
local function take_names(size)
  local names = redis.pcall('SPOP', ix, size)
  if names.err then redis.call('UNLINK', ix) end
  return names
end

-- Removes at once what says that the conversation is there and whose it is (find_loss relies on that), then so many of the
-- keys that `ix` names. Answers how many keys were removed so far, and 1 where more is left: then its entry stands, and a
-- sweep goes on with an erase that was cut off.
local function erase_batch(size)
  -- A mailbox of another type names nobody.
  local head = redis.pcall('LINDEX', mb, 0)
  if type(head) == 'string' then forget_waiting(head) end
  forget_conversation()
  local removed = redis.call('UNLINK', c, log, mb, ver, cp, pass, ev)
  unschedule(turn_member)
  unschedule(pass_member)
  remove_open_pass()
  for _, key in ipairs(take_names(size)) do
    removed = removed + redis.call('UNLINK', key)
    if string.sub(key, 1, #tbase) == tbase then forget_turn(string.sub(key, #tbase + 1)) end
  end
  local has_more = redis.call('EXISTS', ix)
  if has_more == 1 then schedule_idle_check(now + ERASE_GRACE_MS) else forget_idle_ttl() end
  return redis.call('INCRBY', gone, removed), has_more
end
