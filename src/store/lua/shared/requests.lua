-- Requires: nothing. Defines: keep_request. The field `requests` of a turn has the ids of the last requests that brought answers to its
-- calls, oldest first. The field stays in a settled turn, so that the turn of such a request is found at any time.
local MOST_REQUESTS = 16

local function keep_request(key, request)
  if request == '' then return end
  local list = {}
  for known in string.gmatch(redis.call('HGET', key, 'requests') or '', '%S+') do
    if known == request then return end
    list[#list + 1] = known
  end
  list[#list + 1] = request
  redis.call('HSET', key, 'requests', table.concat(list, ' ', math.max(1, #list - MOST_REQUESTS + 1)))
end
