-- Requires: nothing. Defines: corrupt, refuse, number_of, check_calls.
-- Error reply that names a corrupt record. The store turns it into `corrupt_record`. An empty field means the whole key.
local function corrupt(key, field)
  return { err = 'CORRUPT ' .. key .. ' ' .. field .. ';' }
end

-- Ends a script that has written nothing yet.
local function refuse(key, field)
  error(corrupt(key, field), 0)
end

local function number_of(key, field, text)
  return tonumber(text) or refuse(key, field)
end

-- Checks the field `waitCalls` of a wait: a line per call, with its id and its deadline.
local function check_calls(key, text)
  for line in string.gmatch(text, '[^\n]+') do
    if not string.find(line, '^%S+ %d+$') then refuse(key, 'waitCalls') end
  end
end
