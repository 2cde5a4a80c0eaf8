-- @include key-names
-- Reads the field `waitCalls`, which has a line per call that a turn waits for: its id and its deadline in ms. Returns
-- the ids in order, and the deadlines by id.
local function read_waits(lines)
  local calls, deadlines = {}, {}
  for call, deadline in string.gmatch(lines or '', '(%S+) (%d+)') do
    calls[#calls + 1] = call
    deadlines[call] = tonumber(deadline)
  end
  return calls, deadlines
end

-- Reads the field `waitHashes`, which has a line per call: its id and its hash.
local function read_hashes(lines)
  local hashes = {}
  for call, hash in string.gmatch(lines or '', '(%S+) (%S+)') do hashes[call] = hash end
  return hashes
end

-- Writes a field `waitOpen:<callId>` for each unanswered call of this wait, and removes these fields of the earlier
-- wait. From ARGV[first] on, every third argument is a call id. Returns the number of unanswered calls.
local function keep_open_calls(key, earlier, first)
  local open = 0
  for _, call in ipairs(earlier) do redis.call('HDEL', key, 'waitOpen:' .. call) end
  for at = first, #ARGV, 3 do
    if redis.call('HEXISTS', c, 'o:' .. ARGV[at]) == 1 then
      open = open + redis.call('HSET', key, 'waitOpen:' .. ARGV[at], '')
    end
  end
  return open
end

-- Counts the steps that the turn has started or recorded.
local function count_steps(key)
  local steps = 0
  for _, name in ipairs(redis.call('HKEYS', key)) do
    if string.find(name, '^s:') then steps = steps + 1 end
  end
  return steps
end

-- Removes the fields of all waits. The names of the answers stay, so that a repeated answer is recognized.
local function forget_waits(hash)
  for _, name in ipairs(redis.call('HKEYS', hash.key)) do
    if string.find(name, '^suspended') or string.find(name, '^wait') then drop(hash, name) end
    if string.find(name, '^a:') then put(hash, name, '') end
  end
end
