-- Records the outcome of a step. `step` is decoded JSON, as outcomeArgs in turn-steps.ts writes it.
-- @include append

local function is_step_done(text)
  return text and string.sub(text, 1, 5) == 'done '
end

local COUNTED = { 'inputTokens', 'outputTokens', 'cachedTokens', 'costMicros' }

-- Returns 'known' if the step is recorded, 'fenced' if the log has grown since the worker chose the ids of new calls,
-- else nil.
local function find_step(turn, step)
  if is_step_done(value_of(read_turn(turn), 's:' .. step.key)) then return 'known' end
  if step.expectedHead and step.expectedHead ~= conversation.head then return 'fenced' end
end

-- Stages the fields of turn and conversation, and appends the messages. From ARGV[first] on there are `step.texts`
-- pairs of hash and text, then messages as append_messages reads them. Texts and messages are not in `step`, because
-- Lua must not re-encode JSON.
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
