-- Lists a page of access keys by tenant and id, and forgets the names of revoked keys that have expired.
-- KEYS: all keys. ARGV: prefix of the name of a key, place to continue after or '', prefix of the places or '', limit
-- Reply: {last place or '' at the end, {id, now, {field, value…}}…}
-- @include clock
-- @include page
local key_prefix, after, place_prefix, limit = unpack(ARGV)
local places = read_page(KEYS[1], after, place_prefix, limit)
local rows = {}
for _, place in ipairs(places) do
  local id = string.match(place, '|(.+)$')
  local fields = redis.call('HGETALL', key_prefix .. id)
  if #fields > 0 then
    rows[#rows + 1] = { id, now, fields }
  else
    redis.call('ZREM', KEYS[1], place)
  end
end
return { #places == tonumber(limit) and places[#places] or '', unpack(rows) }
