-- Requires: keys, conversation, append, move-calls. Defines: is_done, find_step, record_outcome. Records the outcome of a
-- step. `step` is decoded JSON: `key` of the step, `opens` and `closes` for move_calls, the usage, and `texts`, the number
-- of full texts. `ending` says how an incomplete answer ended, or ''. Further fields are optional. `expectedHead` is the end
-- of the log that the worker knew. `anchor` is the size by the provider's count. `answered` is a version that a model
-- answered. `facts` are the sizes and limits of the request. `requestTokens` is its size.

local function is_done(record)
  return record and string.sub(record, 1, 5) == 'done '
end

local COUNTED = { 'inputTokens', 'outputTokens', 'cachedTokens', 'costMicros' }

-- Returns 'known' if the step is recorded, 'fenced' if the log has grown since the worker chose the ids of new tool calls,
-- else nil. The second value holds the turn's counts, in the order of COUNTED, and its field `requestTokens`.
local function find_step(turn, step)
  local counts = redis.call('HMGET', turn_prefix .. turn, COUNTED[1], COUNTED[2], COUNTED[3], COUNTED[4], 'requestTokens',
    's:' .. step.key)
  if is_done(counts[6]) then return 'known', counts end
  if step.expectedHead and step.expectedHead ~= conversation.head then return 'fenced', counts end
  return nil, counts
end

-- ARGV[first]: the first of `texts` pairs of hash and text. The messages follow, as append_messages reads them. They are
-- separate arguments, because Lua must not re-encode JSON. Adds fields of the conversation (names and values) to `facts`, which the
-- calling script stores with save_conversation.
local function record_outcome(turn, step, first, counts, facts)
  local key, head = turn_prefix .. turn, conversation.head
  move_calls(step.opens, step.closes)
  local first_message = first + 2 * step.texts
  for at = first, first_message - 1, 2 do redis.call('HSETNX', txt, 'x:' .. ARGV[at], ARGV[at + 1]) end
  append_messages(ARGV, first_message, turn)
  local to = conversation.head
  local seqs = to > head and string.format(' %.0f %.0f %s', head + 1, to, step.ending) or ''
  local changes = { 's:' .. step.key, string.format('done %.0f', now) .. seqs }
  local function change(field, value)
    changes[#changes + 1] = field
    changes[#changes + 1] = value
  end
  for at, name in ipairs(COUNTED) do
    if step[name] > 0 then change(name, string.format('%.0f', tonumber(counts[at] or 0) + step[name])) end
  end
  if step.requestTokens then change('requestTokens', (counts[5] or '') .. string.format('%.0f ', step.requestTokens)) end
  redis.call('HSET', key, unpack(changes))
  local anchor = step.anchor
  local function store(field, value)
    facts[#facts + 1] = field
    facts[#facts + 1] = value
  end
  if anchor then
    store('anchor', string.format('%.0f %.0f %.0f %.0f %.0f %s whole', to, anchor.tokens, anchor.version,
      conversation.tokens, conversation.bytes, anchor.fingerprint))
  end
  if step.answered and step.answered > conversation.answered then store('answered', step.answered) end
  if step.facts then store('facts', step.facts) end
end
