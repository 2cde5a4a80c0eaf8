-- Returns the error reply for a corrupt field, '' for the whole key. The store converts it to the error
-- `corrupt_record`.
local function corrupt(key, field)
  return { err = 'CORRUPT ' .. key .. ' ' .. field .. ';' }
end

-- Ends the script with this error. Must be called before the first write.
local function refuse(key, field)
  error(corrupt(key, field), 0)
end

local function number_of(key, field, text)
  return tonumber(text) or refuse(key, field)
end

-- Checks the field `waitCalls`, which has a line per call that a turn waits for: its id and its deadline.
local function check_calls(key, text)
  for line in string.gmatch(text, '[^\n]+') do
    if not string.find(line, '^%S+ %d+$') then refuse(key, 'waitCalls') end
  end
end
