-- Returns a page of a set whose scores are all 0, in the order of its members: those after the member `after`, or from
-- the beginning. All begin with `prefix`, which ends in '|' or is ''.
local function read_page(set, after, prefix, count)
  local from = after ~= '' and '(' .. after or prefix ~= '' and '[' .. prefix or '-'
  -- In ASCII, '}' follows '|', so this name follows all names with the prefix.
  local to = prefix ~= '' and '(' .. string.sub(prefix, 1, -2) .. '}' or '+'
  return redis.call('ZRANGEBYLEX', set, from, to, 'LIMIT', 0, count)
end
