-- Requires: nothing. Defines: read_page. Reads a page of a set whose scores are all 0, in the order of its members. The
-- page starts after the member `after`, the last one of the previous page. It starts at the beginning if `after` is ''.
-- All members begin with `prefix`, which ends in '|', or is ''.
local function read_page(set, after, prefix, count)
  local from = after ~= '' and '(' .. after or prefix ~= '' and '[' .. prefix or '-'
  -- '}' follows '|' in ASCII, so this is the first name after all names with the prefix.
  local to = prefix ~= '' and '(' .. string.sub(prefix, 1, -2) .. '}' or '+'
  return redis.call('ZRANGEBYLEX', set, from, to, 'LIMIT', 0, count)
end
