-- Needs: keys, ready.
-- @include forking
-- @include failed
-- @include idle-ttl
-- @include conversations

-- The reply to who may not write here: the conversation is another agent's (one pass has one policy, and it is that
-- agent's), or is being copied.
local function find_refusal(is_gone, agent)
  local known = is_gone and {} or redis.call('HMGET', c, 'agent', 'forking', 'forkUntil')
  -- First: until its end a fork is nobody's.
  if known[2] then return forking_reply(known[3]) end
  if known[1] and known[1] ~= agent then return { 'other_agent', known[1] } end
end

-- Makes the conversation where there is none.
-- An erased one (or a fork that was abandoned) is made anew: what an erase under way has not removed yet is removed here, then its mark `gone`. So an
-- erase must look at its mark in every batch and stop once it is not its own: the keys are a new conversation's by then.
-- At once, and so it may hold Redis: for 0.5 s where 20,000 turns are left. (Set aside by another name of `ix` and removed in
-- batches, they would be the new conversation's: a turn's key has the same name in both.)
local function create_conversation(is_gone, schema, agent)
  if is_gone then
    for _, key in ipairs(redis.call('SMEMBERS', ix)) do
      redis.call('UNLINK', key)
      if string.sub(key, 1, #tbase) == tbase then forget_turn(string.sub(key, #tbase + 1)) end
    end
    redis.call('UNLINK', c, log, mb, ver, cp, pass, ix, ev, gone, expiry)
    unschedule(turn_member)
    unschedule(pass_member)
    forget_idle_ttl()
  end
  if redis.call('HSETNX', c, 'schema', schema) == 1 then
    redis.call('HSET', c, 'agent', agent, 'head', 0)
    list_conversation()
  end
end
