-- Lists a page of access keys by tenant and id, and forgets the names of revoked keys that have expired.
-- `keyPrefix`: beginning of the names of all keys. `after`: place (tenant|id) to continue after. `prefix`: tenant.
-- Reply: {last place or '' at the end, {id, now, {field, value…}}…}
-- @keys keys
-- @args keyPrefix, after, prefix, limit
-- @include clock
-- @include page
local places = read_page(keys, after, prefix, limit)
local rows = {}
for _, place in ipairs(places) do
  local id = string.match(place, '|(.+)$')
  local fields = redis.call('HGETALL', keyPrefix .. id)
  if #fields > 0 then
    rows[#rows + 1] = { id, now, fields }
  else
    redis.call('ZREM', keys, place)
  end
end
return { #places == tonumber(limit) and places[#places] or '', unpack(rows) }
