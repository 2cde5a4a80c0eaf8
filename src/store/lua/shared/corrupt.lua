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

-- A list of call ids, which is kept as JSON.
local function calls_of(key, field, text)
  local is_read, calls = pcall(cjson.decode, text)
  return is_read and type(calls) == 'table' and calls or refuse(key, field)
end
