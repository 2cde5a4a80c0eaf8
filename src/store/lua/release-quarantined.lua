-- Takes a record out of quarantine, and puts it back into its set if the caller wants that, due now.
-- KEYS: quarantined. ARGV: prefix of the shard's keys, set and member, 1 to put it back
-- Reply: 1 | 0 without such a record
-- @include clock
-- @include set-members
local quarantined = KEYS[1]
local shard, field, is_back = unpack(ARGV)
if redis.call('HDEL', quarantined, field) == 0 then return 0 end
local set, member = string.match(field, '^(%a+)|(.*)$')
if is_back == '1' and FORMS[set] and read_member(set, member) then
  redis.call('ZADD', shard .. set, 'NX', string.format('%.0f', now), member)
end
return 1
