-- Appends the text that readers of a canceled turn have seen, with the mark `stopped`, and the reasoning before it. Only
-- the text of the model call that no step has recorded counts. Calls are left out, because no provider takes a part of
-- them back. No model reads the reasoning.
-- Nothing in this file fails because of a key of the wrong type, because a script must not end between its writes.
-- @include append
local MOST_TEXT_BYTES, MOST_REASONING_BYTES, STREAM_PAGE, GAP = 1048576, 65536, 500, '…'

-- Returns the text `t` and the reasoning `r` of a batch, with their positions. The key of the model call is in front of
-- the first name. `n`: tokens of the text. `k`: the log may keep the reasoning.
local function read_pieces(fields, key)
  local pieces = {}
  for index = 1, #fields, 2 do
    local name = index == 1 and string.sub(fields[1], #key + 2) or fields[index]
    local letter, at = string.match(name, '^([tr])(%d+)$')
    pieces[letter or name] = { at = tonumber(at or 0), text = fields[index + 1] }
  end
  if pieces.t and pieces.n then pieces.t.tokens = tonumber(pieces.n.text) end
  return { t = pieces.t, r = pieces.k and pieces.r }
end

-- Returns the texts and the reasoning of the last model call, newest first. Both are empty if its worker has not counted
-- the tokens. A batch that was sent twice has all its pieces in its later entry.
local function collect_pieces(turn)
  local found, call, first = { t = {}, r = {} }, nil, '+'
  repeat
    local page = redis.pcall('XREVRANGE', streamPrefix .. turn, first, '-', 'COUNT', STREAM_PAGE)
    for _, entry in ipairs(page) do
      local key = string.match(entry[2][1], '^(%d+ %d+ %d+ %d+) %S+$')
      call = call or key
      if key and (key ~= call or tonumber(string.match(key, '^%d+')) ~= conversation.head + 1) then return found end
      local pieces = key and read_pieces(entry[2], key) or {}
      if pieces.t and not pieces.t.tokens then return { t = {}, r = {} } end
      for letter, list in pairs(found) do
        local piece = pieces[letter]
        if piece and (#list == 0 or piece.at < list[#list].at) then list[#list + 1] = piece end
      end
    end
    first = '(' .. (page[#page] or { '' })[1]
  until #page < STREAM_PAGE
  return found
end

-- Joins pieces up to a number of bytes. Returns the text and its tokens.
local function join(pieces, most)
  local parts, bytes, tokens = {}, 0, 0
  for at = #pieces, 1, -1 do
    bytes = bytes + #pieces[at].text
    if bytes > most then break end
    parts[#parts + 1] = pieces[at].text
    tokens = tokens + (pieces[at].tokens or 0)
  end
  return table.concat(parts), tokens
end

-- Cuts a text to a number of bytes, but splits no character. The cut is exact, because a reader knows by the size of a
-- text whether it was cut.
local function cut(text, most)
  while string.find(text, '^[\128-\191]', most + 1) do most = most - 1 end
  return string.sub(text, 1, most)
end

-- Appends the text that the turn has streamed. If the start of the text has left the stream, the message begins with
-- '…'. Reasoning without its start is left out.
local function keep_streamed_text(turn)
  local found = collect_pieces(turn)
  local texts, reasoning = found.t, found.r
  if #texts > 0 and texts[#texts].at > 0 then texts[#texts + 1] = { text = GAP, tokens = 1 } end
  local content, tokens = join(texts, MOST_TEXT_BYTES)
  if not string.find(content, '%S') then return end
  local thought = ''
  if #reasoning > 0 and reasoning[#reasoning].at == 0 then
    thought = ',"reasoning":' .. cjson.encode(cut((join(reasoning, MOST_TEXT_BYTES)), MOST_REASONING_BYTES))
  end
  local message = '{"role":"assistant","content":' .. cjson.encode(content) .. thought .. ',"stopped":true}'
  append_messages({ 1, tokens, #content, 0, message }, 1, turn)
  for _, settled in ipairs({ turn, unpack(steered_turns) }) do
    put(read_turn(settled), 'stoppedSeq', conversation.head)
  end
end
