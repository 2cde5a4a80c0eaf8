-- Requires: nothing. Defines: as key-names. Ends the script with an error if a record is corrupt.
-- @include key-names
-- @include sound
-- @include flaw
local flaw = find_flaw()
if flaw then return flaw end
