#!lua flags=allow-oom
-- Removes a conversation, a batch of its keys at a time. Called until nothing is left. `gone` counts the keys removed, so that
-- an erase sent again answers the same; where it is not there any more, the conversation was made anew and the keys are the
-- new one's.
-- Runs on a full Redis too: it is what makes room.
-- ARGV: 1 for the first call, batch size, goneMs
-- Reply: {keys removed so far, 1 where more is left}
-- @include key-names
-- @include ready
-- @include erase
if ARGV[1] == '1' then
  if not tonumber(redis.pcall('GET', gone) or 0) then redis.call('UNLINK', gone) end
  redis.call('SET', gone, 0, 'NX', 'PX', ARGV[3])
  -- Who asked for it is extra of its end.
  redis.call('UNLINK', expiry)
end
if redis.call('EXISTS', gone) == 0 then return { 0, 0 } end
return { erase_batch(ARGV[2]) }
