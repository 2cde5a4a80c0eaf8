-- Reads and writes the fields of a turn that record the answers to its calls. These fields stay in a settled turn, so
-- that a repeated or contrary answer is recognized at any time.
-- @include clock
-- @include corrupt

-- The field `decisions` has a line per answered call: id, time in ms, verdict, hash of the call or `-`, and the person.
-- A call without a line was answered by an earlier release.
local function read_decisions(key, lines)
  local decisions = {}
  for line in string.gmatch(lines or '', '[^\n]+') do
    local call, at, verdict, hash, by = string.match(line, '^(%S+) (%d+) (%S+) (%S+) ?(.*)$')
    if not call then refuse(key, 'decisions') end
    decisions[call] = { at = at, verdict = verdict, hash = hash, by = by }
  end
  return decisions
end

-- Returns the reply that refuses an answer, or nil. `kind`: kind of answer for which the call waits, nil if it no
-- longer waits. `own`: the recorded hash of the call.
local function refuse_answer(answer, kind, own, decision)
  if answer.hash ~= '' and own ~= answer.hash and (kind or decision) then return { 'other_call', answer.call } end
  if kind and answer.kind ~= kind then return { 'other_kind', answer.call, kind } end
  if not decision or decision.verdict == answer.verdict then return nil end
  return { 'decided', answer.call, decision.at, decision.verdict, decision.by }
end

local function write_decisions(key, lines, answers)
  local list = { lines or nil }
  for _, answer in ipairs(answers) do
    local hash = answer.own or '-'
    list[#list + 1] = string.format('%s %.0f %s %s %s', answer.call, now, answer.verdict, hash, answer.by)
  end
  redis.call('HSET', key, 'decisions', table.concat(list, '\n'))
end

-- The field `requests` has the ids of the last requests that brought answers, oldest first.
local MOST_REQUESTS = 16

local function keep_request(key, request)
  if request == '' then return end
  local list = {}
  for known in string.gmatch(redis.call('HGET', key, 'requests') or '', '%S+') do
    if known == request then return end
    list[#list + 1] = known
  end
  list[#list + 1] = request
  redis.call('HSET', key, 'requests', table.concat(list, ' ', math.max(1, #list - MOST_REQUESTS + 1)))
end
