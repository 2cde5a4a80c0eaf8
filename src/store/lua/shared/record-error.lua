-- @include validate
local PASS = { 'attempts', 'lease', 'parkedUntil', 'expiresAt', 'requestedAt', 'proposedAt', 'sweeps', 'refused',
  'calibration' }

-- Returns the error reply for the first corrupt record of the conversation, or nothing.
local function find_record_error()
  local shard = string.match(ready, '^(.*)ready$')
  local key, sizes = find_other_type('HLEN', c, 'LLEN', mb, 'HLEN', ver, 'HLEN', txt, 'HLEN', pass, 'HLEN', ix, 'XLEN', ev,
    'ZCARD', ready, 'ZCARD', shard .. 'idle', 'ZCARD', shard .. 'passes', 'ZCARD', shard .. 'failed', 'ZCARD', shard .. 'waiting')
  if key then return corrupt(key, '') end
  local head = sizes[mb] > 0 and redis.call('LINDEX', mb, 0)
  if head and find_other_type('HLEN', turnPrefix .. head) then return corrupt(turnPrefix .. head, '') end
  local problem = find_bad_record()
  if problem or sizes[pass] == 0 then return problem end
  local open_pass = { key = pass, values = {} }
  read_fields(open_pass, PASS)
  local field = find_bad_number(open_pass, PASS)
  if field then return corrupt(pass, field) end
end
