-- Takes a record out of quarantine, and drops it or puts it back into its set, due now.
-- `field`: set and member. `isBack`: put it back.
-- Reply: 1 | 0 without such a record
-- @keys quarantined
-- @args shard, field, isBack
-- @include clock
-- @include set-members
if redis.call('HDEL', quarantined, field) == 0 then return 0 end
local set, member = string.match(field, '^(%a+)|(.*)$')
if isBack == '1' and FORMS[set] and read_member(set, member) then
  redis.call('ZADD', shard .. set, 'NX', string.format('%.0f', now), member)
end
return 1
