-- Records that a person's approval of a proposal could not be carried out. The proposal is under review again until it
-- expires.
-- `refusal` is JSON, `code` its code.
-- Reply: 'refused' | 'dropped' | 'fenced' | 'superseded' | 'gone'
-- @args passId, owner, refusal, code
-- @include keys
-- @include events
-- @include pass-owner
-- @include review
local loss = find_pass_loss(passId, owner)
if loss == 'fenced' and has_given_back(passId, owner, REVIEW) then return 'refused' end
if loss then return loss end
local untilMs = redis.call('HGET', pass, 'expiresAt')
if not untilMs then return 'dropped' end
answer_decision('refused ' .. refusal)
await_review(owner, untilMs)
emit('approval_refused', { 'passId', passId, 'code', code })
return 'refused'
