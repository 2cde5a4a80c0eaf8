-- The keys of a conversation. Ends the script with an error if a record is corrupt.
-- @include record-error
local problem = find_record_error()
if problem then return problem end
