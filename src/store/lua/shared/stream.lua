-- Requires: key-names. The stream of a turn exists once a client follows it, so a turn without followers costs one
-- EXISTS. Its key is also the channel of notices. No command here can fail because of a key of another type, as a
-- script must not end between its writes.
local STREAM_KEPT_MS, STREAM_BATCHES = 300000, 10000

local function notify_readers(turn)
  local stream = stream_prefix .. turn
  if redis.call('EXISTS', stream) == 1 then redis.call('PUBLISH', stream, '') end
end

-- A settled turn's pieces are kept for a while.
local function end_stream(turn)
  if redis.call('PEXPIRE', stream_prefix .. turn, STREAM_KEPT_MS) == 1 then notify_readers(turn) end
end

-- For readers of the first turn. fields: as put_version emits them.
local function stream_compaction(fields)
  local turn = redis.call('LINDEX', mb, 0)
  if not turn then return end
  redis.pcall('XADD', stream_prefix .. turn, 'NOMKSTREAM', 'MAXLEN', '~', STREAM_BATCHES, '*',
    'head', redis.call('HGET', c, 'head') or '0', unpack(fields))
  notify_readers(turn)
end
