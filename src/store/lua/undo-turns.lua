-- Makes a version live without the turns whose messages leave the context. The owner of the running turn calls this
-- script before its first step. A worker that settled such a turn calls it when the mailbox is empty. Ends the pass in
-- progress, which was planned for the earlier context.
-- `expected`: the live version that the caller knows. The arguments of put_version follow.
-- Reply: {'undone'|'known', the conversation's fields} | {'version_changed', live version} | {a loss by find_loss}
-- @args turn, owner, epoch, expected, backoff, ...
-- @include keys
-- @include conversation
-- @include pass-end
-- @include put-version
read_conversation()
local has_settled = not head_turn and value_of(record, 'settledBy') == epoch
local loss = not has_settled and find_loss(turn, owner, epoch)
if loss then return { loss } end
-- Only this script, and a restore by a service, remove the field `undo`.
if redis.call('HEXISTS', c, 'undo') == 0 then return { 'known', redis.call('HGETALL', c) } end
local live = redis.call('HGET', c, 'version') or '0'
if live ~= expected then return { 'version_changed', tonumber(live) } end
put(record, 'backoff', backoff)
-- This version shows readers of the log which messages were rolled back, so that readers hide them.
local number, version = ARGV[rest], ARGV[rest + 1]
if string.find(version, '"turn_rolled_back"', 1, true) then keep_version(number) end
supersede_pass('')
put_version()
drop(record, 'undo')
return { 'undone', redis.call('HGETALL', c) }
