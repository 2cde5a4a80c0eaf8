-- A page of a set whose scores are all 0, in the order of its members.
-- after: the member that the page before ended at, or ''; prefix: what the members begin with, ending in '|', or ''
local function read_page(set, after, prefix, count)
  local from = after ~= '' and '(' .. after or prefix ~= '' and '[' .. prefix or '-'
  -- '}' is the character behind '|'.
  local to = prefix ~= '' and '(' .. string.sub(prefix, 1, -2) .. '}' or '+'
  return redis.call('ZRANGEBYLEX', set, from, to, 'LIMIT', 0, count)
end
