-- Lists conversations of one shard, each with its state: those named by the last arguments, or the next ones by name.
-- Writes nothing.
-- `after`: name to continue after. `prefix`: tenant and '|'. `maxNames`: most names to examine. `limit`: most rows.
-- `part`: part of the id. `label` and `labelValue`: a name in the metadata and its value. Filters are '' for any.
-- Reply: {last name examined or '', count of names examined, 1 at the end of the shard, {name, agent, state, messages,
-- user messages, unsettled turns in the mailbox, kind of the wait or '', how the last turn ended and when or '', 1 for
-- a fork in progress, owner or '', title or '', time of creation, time of the last message or '', metadata or ''}…}
-- @keys conversations
-- @args shard, after, prefix, maxNames, limit, agent, state, part, label, labelValue, ...
-- @include page
local names = ARGV[rest] and { unpack(ARGV, rest) } or read_page(conversations, after, prefix, maxNames)
local rows, last, examined = {}, '', 0

-- A corrupt conversation is left out, so that the others are still listed.
local function read_state(base, id, last_turn)
  local head = redis.pcall('LINDEX', base .. 'mb:' .. id, 0)
  if type(head) == 'table' then return end
  if not head then return string.match(last_turn, '^failed ') and 'failed' or 'idle', '' end
  local turn = redis.pcall('HMGET', base .. 't:' .. id .. ':' .. head, 'state', 'waitFor', 'waitFulfilled')
  -- Once the last answer has arrived, the turn waits only for a worker.
  if turn[1] == 'waiting' and turn[3] and (turn[2] == 'tools' or turn[2] == 'approval') then return 'queued', '' end
  return turn[1] or 'queued', turn[1] == 'waiting' and turn[2] or ''
end

-- Reads a value beside the record. Damage counts as a missing value.
local function read_text(...)
  local value = redis.pcall(...)
  return type(value) == 'string' and value or ''
end

-- Damaged metadata match no filter.
local function has_label(metadata)
  if label == '' then return true end
  local is_json, labels = pcall(cjson.decode, metadata)
  return is_json and type(labels) == 'table' and labels[label] == labelValue
end

for _, name in ipairs(names) do
  if #rows == tonumber(limit) then break end
  last, examined = name, examined + 1
  local tenant, id = string.match(name, '^([^|]+)|(.+)$')
  local base = shard .. (tenant or '') .. ':'
  local fields = tenant and string.find(id, part, 1, true) and redis.pcall('HMGET', base .. 'c:' .. id, 'schema', 'agent',
    'forkAgent', 'head', 'turns', 'last', 'ownedBy', 'title', 'created') or {}
  local whose = fields[3] or fields[2] or ''
  local metadata = fields[1] and read_text('HGET', base .. 'txt:' .. id, 'metadata')
  if fields[1] and (agent == '' or agent == whose) and has_label(metadata) then
    local now_state, wait = read_state(base, id, fields[6] or '')
    if now_state and (state == '' or state == now_state) then
      rows[#rows + 1] = { name, whose, now_state, fields[4] or '0', fields[5] or '0',
        redis.call('LLEN', base .. 'mb:' .. id), wait, fields[6] or '', fields[3] and 1 or 0, fields[7] or '',
        fields[8] or '', fields[9] or '', read_text('ZSCORE', base .. 'recent', id),
        metadata }
    end
  end
end
local is_end = #names < tonumber(maxNames) and examined == #names
return { last, examined, is_end and 1 or 0, unpack(rows) }
