-- Needs: keys, ready.

-- The agent whose conversation this is, where it is another one: one pass has one policy, and it is that agent's.
local function find_other_agent(is_gone, agent)
  local known = not is_gone and redis.call('HGET', c, 'agent')
  return known and known ~= agent and known
end

-- Makes the conversation where there is none.
-- An erased one is made anew: what an erase under way has not removed yet is removed here, then its mark `gone`. So an
-- erase must look at its mark in every batch and stop once it is not its own: the keys are a new conversation's by then.
local function create_conversation(is_gone, schema, agent)
  if is_gone then
    for _, key in ipairs(redis.call('SMEMBERS', ix)) do
      redis.call('UNLINK', key)
      if string.sub(key, 1, #tbase) == tbase then leave_alone(scheduled_member(string.sub(key, #tbase + 1))) end
    end
    redis.call('UNLINK', c, log, mb, ver, cp, pass, ix, ev, gone)
    leave_alone(turn_member)
    leave_alone(pass_member)
  end
  if redis.call('HSETNX', c, 'schema', schema) == 1 then redis.call('HSET', c, 'agent', agent, 'head', 0) end
end
