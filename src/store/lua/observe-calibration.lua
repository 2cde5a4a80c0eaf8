-- Updates a model's calibration by one ratio of the provider's token count to ours. The calibration is the mean of the
-- first 20 ratios. Later each ratio moves it by a twentieth of the difference.
-- KEYS: calibrations. ARGV: model, ratio
-- Reply: the model's new calibration
local known = redis.call('HGET', KEYS[1], ARGV[1])
-- A calibration that cannot be read starts again from 1.
local factor, count = string.match(known or '', '^(%d+%.?%d*) (%d+)$')
factor, count = factor or 1, count or 0
count = tonumber(count) + 1
factor = factor + (ARGV[2] - factor) * math.max(1 / count, 0.05)
local text = string.format('%.5f', factor)
redis.call('HSET', KEYS[1], ARGV[1], text .. ' ' .. string.format('%.0f', count))
return text
