import { z } from 'zod';
import { weighItems } from '../../compaction/context.ts';
import { explainPlanInSlices } from '../../compaction/explain.ts';
import { boundedRecord } from '../../domain/bounded-schemas.ts';
import { checkLimits, type FixedWeight, resolveLimits } from '../../domain/limits.ts';
import type { Message, Weight } from '../../domain/message.ts';
import { parseInput } from '../../domain/parse.ts';
import type { Reason } from '../../domain/pass.ts';
import { completePolicy, mergePolicies, type PolicyInput } from '../../domain/policy.ts';
import { examinePolicy, MAX_POLICY_SETTINGS, readPolicy } from '../../domain/policy-input.ts';
import { limitsOf, type RequestFacts } from '../../domain/request-facts.ts';
import type { RequestOverhead } from '../../domain/size.ts';
import type { ContextItem, SeqRange } from '../../domain/version.ts';
import { eventLoopShare } from '../../wire/tokens/event-loop-share.ts';
import { bytesOfMessage } from '../../wire/tokens/message-tokens.ts';
import { noConversation } from './client-errors.ts';
import type { ConversationName } from './input.ts';
import { type InspectionPorts, readInspected } from './inspected-version.ts';

const dryRunSchema = z.strictObject({
  /** Policy to try, as in an agents file. */
  policy: boundedRecord(z.string(), z.unknown(), MAX_POLICY_SETTINGS).default({}),
});

/** A policy to try on a conversation. */
export interface DryRunInput {
  /**
   * Policy in the form of docs/reference/policy.md. Absent settings are those of the agent, if a worker has recorded
   * them, or else have their defaults.
   */
  readonly policy?: Readonly<Record<string, unknown>>;
}

/** Plan of a compaction. The compaction itself does not run. Ranges and positions refer to the log. */
export interface DryPlan {
  /** Kind of the compaction. `trim` only masks and drops. `infeasible`: no context fits the budget. */
  readonly kind: 'none' | 'trim' | 'summarize' | 'evict' | 'infeasible';
  /** Thresholds that the context reaches. */
  readonly reasons: readonly Reason[];
  /** Tokens of a request before the compaction. */
  readonly tokens: number;
  /** Estimated tokens of a request after the compaction. Each summary counts with its largest size. */
  readonly tokensAfter: number;
  /** Number of messages in the context. */
  readonly messages: number;
  /** Ranges that would become summaries. */
  readonly summarize: readonly SeqRange[];
  /** Ranges that would leave the context. */
  readonly evict: readonly SeqRange[];
  /** Ranges whose messages would be masked or clipped. */
  readonly mask: readonly SeqRange[];
  /** Positions that no soft compaction removes. A summary has the position of its first message. */
  readonly protected: readonly number[];
}

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
