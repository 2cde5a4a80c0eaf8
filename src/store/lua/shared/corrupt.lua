-- Requires: nothing. Defines: corrupt, refuse, number_of, check_calls. Makes the error reply for a corrupt record, with its
-- key and field. An empty field means the whole key. The store converts the reply to the error `corrupt_record`.
local function corrupt(key, field)
  return { err = 'CORRUPT ' .. key .. ' ' .. field .. ';' }
end

-- Ends the script with the error for a corrupt record. The script must not have written anything yet.
local function refuse(key, field)
  error(corrupt(key, field), 0)
end

local function number_of(key, field, text)
  return tonumber(text) or refuse(key, field)
end

-- Checks the field `waitCalls` of a waiting turn: a line per tool call, with its id and its deadline.
local function check_calls(key, text)
  for line in string.gmatch(text, '[^\n]+') do
    if not string.find(line, '^%S+ %d+$') then refuse(key, 'waitCalls') end
  end
end
