#!lua flags=allow-oom
-- Erases a conversation, one batch of keys per call. Runs on a full Redis, because it frees memory. The key `gone`
-- counts the removed keys, so a repeated erase gets the same reply. If `gone` is missing, the conversation was created
-- again, and its keys stay.
-- `isRestored`: the index was just restored.
-- Reply: {keys removed so far, 1 if keys are left, or the index must be restored: 2, or 3 before any write}
-- @args isFirst, batch, goneMs, isRestored
-- @include erase
if isFirst == '1' then
  if isRestored ~= '1' and is_index_lost() then return { 0, 3 } end
  if not tonumber(redis.pcall('GET', gone) or 0) then redis.call('UNLINK', gone) end
  redis.call('SET', gone, 0, 'NX', 'PX', goneMs)
  -- An expiry in progress must not report the keys that this erase reports, so its record is removed.
  redis.call('UNLINK', expiry)
end
if redis.call('EXISTS', gone) == 0 then return { 0, 0 } end
return { erase_batch(batch) }
