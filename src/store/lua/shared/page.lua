-- Returns a page of a set whose scores are all 0, in the order of its members: those after the member `after`, or from
-- the beginning. All returned members begin with `prefix`, which ends in '|' or is ''. A caller chooses `after`, so a
-- member without the prefix counts as the beginning: names of another tenant may lie behind it (I19).
local function read_page(set, after, prefix, count)
  local is_within = after ~= '' and string.sub(after, 1, #prefix) == prefix
  local from = is_within and '(' .. after or prefix ~= '' and '[' .. prefix or '-'
  -- In ASCII, '}' follows '|', so this name follows all names with the prefix.
  local to = prefix ~= '' and '(' .. string.sub(prefix, 1, -2) .. '}' or '+'
  return redis.call('ZRANGEBYLEX', set, from, to, 'LIMIT', 0, count)
end
