-- The set `idle` holds the conversations that are erased after a time without activity.
-- @include ready
-- @include record
local idle = string.gsub(ready, 'ready$', 'idle')
local idle_member = 'r|' .. tenant .. '|' .. id
-- This key exists while an expiry erases the conversation. Afterwards its value names the call that removed the last
-- keys, for as long as that call may be repeated.
local expiry = gone .. ':expiry'

local function schedule_idle_check(at)
  redis.call('ZADD', idle, string.format('%.0f', at), idle_member)
end

local function forget_idle_ttl()
  redis.call('ZREM', idle, idle_member)
end

-- Starts the idle TTL again. `known`: the field `ttl`, or false. `new_ttl`: the TTL of the policy in ms, '0' to end the
-- TTL, '' or nil to keep the last TTL.
local function start_idle_ttl(known, new_ttl)
  local ttl = new_ttl ~= '' and new_ttl or string.match(known or '0', '^%d+')
  if ttl ~= '0' then
    put(record, 'ttl', string.format('%s %.0f', ttl, now + ttl))
    schedule_idle_check(now + ttl)
  elseif known then
    drop(record, 'ttl')
    forget_idle_ttl()
  end
end
