-- While a person reviews a proposal, no job may claim its pass. A worker can claim the pass again once the proposal
-- expires, a decision arrives, or a hard reason removes the proposal.
-- @include open-passes
-- @include operations
local REVIEW, DECISION_MS = 'review:', 86400000

local function await_review(owner, untilMs)
  redis.call('HDEL', pass, 'owner', 'lease')
  redis.call('HSET', pass, 'attempts', 0, 'parked', REVIEW, 'parkedBy', owner, 'parkedUntil', untilMs)
  schedule(pass_member, untilMs)
  remove_open_pass()
end

-- Stores the outcome of the proposal for the caller that decided on it.
local function answer_decision(answer)
  local operation = redis.call('HGET', pass, 'decision')
  if not operation then return end
  keep_answer(operation, answer, DECISION_MS, REVIEW)
  redis.call('HDEL', pass, 'decision', 'verdict')
end

-- Removes the proposal. The pass starts again, and uses existing summaries again.
local function drop_proposal()
  answer_decision('superseded')
  redis.call('HDEL', pass, 'proposal', 'proposalId', 'proposedOver', 'proposedAt', 'expiresAt', 'plan', 'parked',
    'parkedBy', 'parkedUntil')
  redis.call('HSET', pass, 'attempts', 0)
  add_open_pass()
end
