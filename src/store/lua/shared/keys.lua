-- The keys of one conversation and the time, once its records are known to be sound.
-- @include key-names
-- @include sound
local flaw = find_flaw()
if flaw then return flaw end
