-- Updates a model's calibration by one ratio of the provider's token count to ours. The calibration is the mean of the
-- first 20 ratios. Later each ratio moves the calibration by a twentieth of the difference.
-- Reply: the model's new calibration
-- @keys calibrations
-- @args model, ratio
local known = redis.call('HGET', calibrations, model)
-- A calibration that cannot be read starts again from 1.
local factor, count = string.match(known or '', '^(%d+%.?%d*) (%d+)$')
factor, count = factor or 1, (count or 0) + 1
factor = factor + (ratio - factor) * math.max(1 / count, 0.05)
local text = string.format('%.5f', factor)
redis.call('HSET', calibrations, model, text .. ' ' .. string.format('%.0f', count))
return text
