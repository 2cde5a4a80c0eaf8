-- The error that names a corrupt record; `script.ts` reads it back. A field of '' means the whole key.
local function corrupt(key, field)
  return { err = 'CORRUPT ' .. key .. ' ' .. field .. ';' }
end

-- For a script that has written nothing yet.
local function refuse(key, field)
  error(corrupt(key, field), 0)
end

local function number_of(key, field, text)
  return tonumber(text) or refuse(key, field)
end

-- The calls of a wait: a line for each, its id and its deadline.
local function check_calls(key, text)
  for line in string.gmatch(text, '[^\n]+') do
    if not string.find(line, '^%S+ %d+$') then refuse(key, 'wcalls') end
  end
end
