-- Lists the conversations of one shard by name, each with its state. Writes nothing.
-- KEYS: conversations of the shard. ARGV: prefix of the shard's keys, name to continue after or '', tenant and '|' or '', limit
-- of names to examine, limit of rows, agent or '', state or '', part of the id or ''
-- Reply: {last name examined or '', count of names examined, 1 at the end of the shard, {name, agent, state, messages, user
-- messages, unsettled turns in the mailbox, kind of the wait or '', how the last turn ended and when or '', 1 for a fork in
-- progress}…}
-- @include page
local prefix, after, tenant_prefix, most_names, limit, agent, state, part = unpack(ARGV)
most_names, limit = tonumber(most_names), tonumber(limit)
local names = read_page(KEYS[1], after, tenant_prefix, most_names)
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

for _, name in ipairs(names) do
  if #rows == limit then break end
  last, examined = name, examined + 1
  local tenant, id = string.match(name, '^([^|]+)|(.+)$')
  local base = prefix .. (tenant or '') .. ':'
  local fields = tenant and string.find(id, part, 1, true) and redis.pcall('HMGET', base .. 'c:' .. id, 'schema', 'agent', 'forkAgent', 'head', 'turns', 'last')
    or {}
  local whose = fields[3] or fields[2] or ''
  if fields[1] and (agent == '' or agent == whose) then
    local now_state, wait = read_state(base, id, fields[6] or '')
    if now_state and (state == '' or state == now_state) then
      rows[#rows + 1] = { name, whose, now_state, fields[4] or '0', fields[5] or '0',
        redis.call('LLEN', base .. 'mb:' .. id), wait, fields[6] or '', fields[3] and 1 or 0 }
    end
  end
end
local is_end = #names < most_names and examined == #names
return { last, examined, is_end and 1 or 0, unpack(rows) }
