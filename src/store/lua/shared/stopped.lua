-- Appends the text that readers of a canceled turn have seen, with the mark `stopped`. Only the text of the model call
-- that no step has recorded counts. Reasoning and calls are left out, because no provider takes a part of them back.
-- Nothing in this file fails because of a key of the wrong type, because a script must not end between its writes.
-- @include append
local MOST_TEXT_BYTES, STREAM_PAGE, GAP = 1048576, 500, '…'

-- Returns position, text and tokens of a batch. The key of the model call is in front of the first name.
local function read_text(fields, key)
  local at, text, tokens
  for index = 1, #fields, 2 do
    local name = index == 1 and string.sub(fields[1], #key + 2) or fields[index]
    if string.find(name, '^t%d+$') then at, text = tonumber(string.sub(name, 2)), fields[index + 1] end
    if name == 'n' then tokens = tonumber(fields[index + 1]) end
  end
  return at, text, tokens
end

-- Returns the texts of the last model call, newest first. Empty if its worker has not counted the tokens. A batch that
-- was sent twice has all its pieces in its later entry.
local function collect_texts(turn)
  local texts, call, first = {}, nil, '+'
  repeat
    local page = redis.pcall('XREVRANGE', streamPrefix .. turn, first, '-', 'COUNT', STREAM_PAGE)
    for _, entry in ipairs(page) do
      local key = string.match(entry[2][1], '^(%d+ %d+ %d+ %d+) %S+$')
      call = call or key
      if key and (key ~= call or tonumber(string.match(key, '^%d+')) ~= conversation.head + 1) then return texts end
      local at, text, tokens
      if key then at, text, tokens = read_text(entry[2], key) end
      if text and not tokens then return {} end
      if text and (#texts == 0 or at < texts[#texts].at) then texts[#texts + 1] = { at = at, text = text, tokens = tokens } end
    end
    first = '(' .. (page[#page] or { '' })[1]
  until #page < STREAM_PAGE
  return texts
end

-- Appends the text that the turn has streamed. If the start of the text has left the stream, the message begins with
-- '…'. Text beyond the limit of a message is left out.
local function keep_streamed_text(turn)
  local texts, parts, bytes, tokens = collect_texts(turn), {}, 0, 0
  if #texts > 0 and texts[#texts].at > 0 then parts, bytes, tokens = { GAP }, #GAP, 1 end
  for at = #texts, 1, -1 do
    bytes = bytes + #texts[at].text
    if bytes > MOST_TEXT_BYTES then break end
    parts[#parts + 1] = texts[at].text
    tokens = tokens + texts[at].tokens
  end
  local content = table.concat(parts)
  if not string.find(content, '%S') then return end
  local message = '{"role":"assistant","content":' .. cjson.encode(content) .. ',"stopped":true}'
  append_messages({ 1, tokens, #content, 0, message }, 1, turn)
  for _, settled in ipairs({ turn, unpack(steered_turns) }) do
    put(read_turn(settled), 'stoppedSeq', conversation.head)
  end
end
