#!lua flags=allow-oom
-- Removes a conversation: at once what says that it is there and whose it is (find_loss relies on that), then one batch of
-- the keys that `ix` names. Called until nothing is left. `gone` counts the keys removed, so that an erase sent again answers
-- the same; where it is not there any more, the conversation was made anew and the keys are the new one's.
-- Runs on a full Redis too: it is what makes room.
-- ARGV: 1 for the first call, batch size, goneMs
-- Reply: {keys removed so far, 1 where more is left}
-- @include keys
-- @include ready
-- @include failed
-- @include open-passes
if ARGV[1] == '1' then redis.call('SET', gone, 0, 'NX', 'PX', ARGV[3]) end
if redis.call('EXISTS', gone) == 0 then return { 0, 0 } end
local removed = redis.call('UNLINK', c, log, mb, ver, cp, pass, ev)
leave_alone(turn_member)
leave_alone(pass_member)
count_no_more()
for _, key in ipairs(redis.call('SPOP', ix, ARGV[2])) do
  removed = removed + redis.call('UNLINK', key)
  if string.sub(key, 1, #tbase) == tbase then forget_turn(string.sub(key, #tbase + 1)) end
end
return { redis.call('INCRBY', gone, removed), redis.call('EXISTS', ix) }
