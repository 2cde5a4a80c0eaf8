-- The quarantine is a hash that only people read (I12): set and member -> time, score and reason. `set_aside` collects
-- set, name and reason for the reply. The calling script defines `shard`, the prefix of the shard's keys.
-- @include clock
local quarantined = shard .. 'quarantined'
local set_aside = {}

-- Renames a key of the wrong type, so that its name becomes free again.
local function move_key(key)
  local kept_as = key .. ':bad:' .. string.format('%.0f', now)
  redis.call('RENAME', key, kept_as)
  return kept_as
end

-- Quarantines a record. `set`: 'ready', 'idle', 'passes', 'failed', or 'key' for a whole key.
local function quarantine(set, name, score, why)
  if type(redis.pcall('HLEN', quarantined)) ~= 'number' then move_key(quarantined) end
  redis.call('HSET', quarantined, set .. '|' .. name, string.format('%.0f %s %s', now, score or '-', why))
  for _, text in ipairs({ set, name, why }) do set_aside[#set_aside + 1] = text end
end

local function quarantine_member(set, member, why)
  local score = redis.call('ZSCORE', shard .. set, member)
  redis.call('ZREM', shard .. set, member)
  quarantine(set, member, score, why)
end

local function free_sets()
  for _, set in ipairs({ 'ready', 'idle', 'passes', 'failed', 'waiting' }) do
    if type(redis.pcall('ZCARD', shard .. set)) ~= 'number' then
      quarantine('key', shard .. set, nil, 'wrong type of Redis value, key renamed to ' .. move_key(shard .. set))
    end
  end
end
