-- The stream of a turn exists once a client follows the turn, so a turn without followers costs one EXISTS. The key of
-- the stream is also the channel of its notices. Nothing in this file fails because of a key of the wrong type, because
-- a script must not end between its writes.
-- @include key-names
local STREAM_KEPT_MS, STREAM_BATCHES = 300000, 10000

local function notify_readers(turn)
  local stream = streamPrefix .. turn
  if redis.call('EXISTS', stream) == 1 then redis.call('PUBLISH', stream, '') end
end

-- Ends the stream of a settled turn. Its pieces are kept for a while.
local function end_stream(turn)
  if redis.call('PEXPIRE', streamPrefix .. turn, STREAM_KEPT_MS) == 1 then notify_readers(turn) end
end

-- Writes a compaction to the stream of the first turn in the mailbox. `fields`: those of the event.
local function stream_compaction(fields)
  local turn = redis.call('LINDEX', mb, 0)
  if not turn then return end
  redis.pcall('XADD', streamPrefix .. turn, 'NOMKSTREAM', 'MAXLEN', '~', STREAM_BATCHES, '*',
    'head', redis.call('HGET', c, 'head') or '0', unpack(fields))
  notify_readers(turn)
end
