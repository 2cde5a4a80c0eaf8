import { weighItems } from '../../compaction/context.ts';
import { explainPlanInSlices } from '../../compaction/explain.ts';
import { checkLimits, type FixedWeight, resolveLimits } from '../../domain/limits.ts';
import type { Message, Weight } from '../../domain/message.ts';
import { parseInput } from '../../domain/parse.ts';
import { completePolicy, mergePolicies, type PolicyInput } from '../../domain/policy.ts';
import { examinePolicy, readPolicy } from '../../domain/policy-input.ts';
import { limitsOf, type RequestFacts } from '../../domain/request-facts.ts';
import type { RequestOverhead } from '../../domain/size.ts';
import type { ContextItem, SeqRange } from '../../domain/version.ts';
import { eventLoopShare } from '../../wire/tokens/event-loop-share.ts';
import { bytesOfMessage } from '../../wire/tokens/message-tokens.ts';
import type { ConversationName } from '../contract/names.ts';
import { type DryPlan, type DryRunInput, dryRunSchema } from '../contract/versions.ts';
import { noConversation } from './client-errors.ts';
import { type InspectionPorts, readInspected } from './inspected-version.ts';

/**
 * Plans a compaction of the live context under a policy. Calls no model and writes nothing. The window of the model
 * counts if a worker recorded it.
 * @throws not_found if the conversation does not exist. invalid_policy for a policy that cannot work.
 */
export async function planCompaction(
  ports: InspectionPorts,
  name: ConversationName,
  input: DryRunInput = {},
): Promise<DryPlan> {
  const { policy: given } = parseInput(dryRunSchema, input);
  const { conversation, state, version } = await readInspected(ports, name, undefined);
  const context = await ports.recentContexts.read(conversation, state, version.number);
  if (context === undefined) throw noConversation(conversation);
  // A record that another program damaged must not stop a trial.
  const recorded = examinePolicy(state.requestFacts?.policy).policy;
  const request = completeRequest(mergePolicies(recorded, readPolicy(given).policy), state.requestFacts);
  const weigh = estimateWeights(context.items);
  const evidence = ports.readEvidence;
  const explained = await eventLoopShare.run(
    explainPlanInSlices({ ...request, context, weigh, evidence, isEstimate: true }),
  );
  const { plan, tokensAfter, messages, protectedPositions } = explained;
  return {
    kind: plan.kind,
    reasons: plan.reasons,
    tokens: plan.tokens,
    tokensAfter,
    messages,
    summarize: plan.sequences.map(toRange),
    evict: plan.evict.map(toRange),
    mask: (plan.shorten ?? []).map(toRange),
    protected: protectedPositions.map((position) => context.items[position]?.from ?? 0),
  };
}

/**
 * Makes a function that estimates the tokens of a shortened message from its bytes. A plan over 10,000 messages weighs
 * 16,000 shortened messages. Counting their tokens exactly would take longer than the rest of the plan.
 */
function estimateWeights(items: readonly ContextItem[]): (message: Message) => Weight {
  const { tokens, bytes } = weighItems(items);
  const tokensOfByte = bytes === 0 ? 0 : tokens / bytes;
  return (message) => {
    const own = bytesOfMessage(message);
    return { tokens: Math.ceil(own * tokensOfByte), bytes: own };
  };
}

function toRange({ from, to }: SeqRange): SeqRange {
  return { from, to };
}

const NOTHING_FIXED: FixedWeight = { systemTokens: 0, toolTokens: 0, pinTokens: 0 };

/** Completes a policy, and derives its limits from what workers recorded. */
function completeRequest(input: PolicyInput, facts: RequestFacts | undefined) {
  const policy = completePolicy(input);
  const limits = resolveLimits(policy, facts && limitsOf(facts));
  const { systemTokens, toolTokens, pinTokens } = facts ?? NOTHING_FIXED;
  checkLimits(policy, limits, { systemTokens, toolTokens, pinTokens });
  const overhead: RequestOverhead = {
    tokens: systemTokens + toolTokens + pinTokens,
    pinTokens,
    bytes: 0,
    calibration: 1,
  };
  return { policy, limits, overhead };
}
