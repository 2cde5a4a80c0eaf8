-- Include first: keys, conversation, append. Records the outcome of a step. `step` is decoded JSON. It has the `key` of
-- the step, `opens` and `closes` for move_calls, the usage, and `texts`, the number of full texts. `ending` says how an
-- incomplete answer ended, or ''. Further fields are optional. `expectedHead` is the end of the log that the worker
-- knew. `anchor` is the size by the provider's count. `answered` is a version that a model answered. `facts` are sizes
-- and limits of the request. `requestTokens` is the size of the request.

local function is_done(record)
  return record and string.sub(record, 1, 5) == 'done '
end

local COUNTED = { 'inputTokens', 'outputTokens', 'cachedTokens', 'costMicros' }

-- Returns 'known' if the step is recorded, 'fenced' if the log has grown since the worker chose the ids of new tool
-- calls, else nil.
local function find_step(turn, step)
  if is_done(value_of(read_turn(turn), 's:' .. step.key)) then return 'known' end
  if step.expectedHead and step.expectedHead ~= conversation.head then return 'fenced' end
end

-- Records the outcome. From ARGV[first] on there are `texts` pairs of hash and text, then messages for append_messages.
-- Texts and messages are not in `step`, because Lua must not re-encode JSON. Fields of turn and conversation are
-- staged, and the calling script writes them.
local function record_outcome(turn, step, first)
  local hash, head = read_turn(turn), conversation.head
  if #step.opens + #step.closes > 0 then
    -- @include open-calls
    move_calls(step.opens, step.closes)
  end
  local first_message = first + 2 * step.texts
  for at = first, first_message - 1, 2 do redis.call('HSETNX', txt, 'x:' .. ARGV[at], ARGV[at + 1]) end
  append_messages(ARGV, first_message, turn)
  local to = conversation.head
  local seqs = to > head and string.format(step.ending == '' and ' %.0f %.0f' or ' %.0f %.0f %s', head + 1, to, step.ending) or ''
  stage(hash, 's:' .. step.key, string.format('done %.0f', now) .. seqs)
  for _, name in ipairs(COUNTED) do
    if step[name] > 0 then stage(hash, name, string.format('%.0f', tonumber(value_of(hash, name) or 0) + step[name])) end
  end
  if step.requestTokens then
    local earlier = value_of(hash, 'requestTokens')
    stage(hash, 'requestTokens', (earlier and earlier .. ' ' or '') .. string.format('%.0f', step.requestTokens))
  end
  local anchor = step.anchor
  if anchor then
    stage(record, 'anchor', string.format('%.0f %.0f %.0f %.0f %.0f %s whole', to, anchor.tokens, anchor.version,
      conversation.tokens, conversation.bytes, anchor.fingerprint))
  end
  if step.answered and step.answered > conversation.answered then stage(record, 'answered', step.answered) end
  if step.facts then stage(record, 'facts', step.facts) end
end
